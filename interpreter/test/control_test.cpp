// Uniform loops and branches, lane masks, determinism.
#include "interpreter/test/program_builder.h"
#include <gtest/gtest.h>

namespace tandem::interpreter::test {
namespace {

TEST(Control, SumsALoop) {
  World world({.rankCount = 1});
  Address out = world.allocate(0, 8, MemoryKind::Local, false, "out");
  ProgramBuilder b;
  Register p = b.pointerArgument("out", Elem::I64), n = b.argument("n", Elem::I64);
  Register sum = b.uniform(Elem::I64);
  b.add(Op::Constant, Elem::I64, {}, {sum}, {0, 0});
  b.forLoop(b.constant(Elem::I64, 0), n,
            [&](Register i) { b.add(Op::Binary, Elem::I64, {sum, i}, {sum}, {}, uint8_t(BinaryOp::AddI)); });
  b.store(p, sum);
  ASSERT_EQ(launchAll(world, b.finish(), {1, 1, 1}, {{out, 1000}}), World::Stop::Done) << renderAll(world);
  EXPECT_EQ(*at<int64_t>(out), 499500);
  EXPECT_GT(world.counters().instructions, 3000u);
}

TEST(Control, BranchTakesTheElseSide) {
  for (int64_t x : {1, 7}) {
    World world({.rankCount = 1});
    Address out = world.allocate(0, 4, MemoryKind::Local, false, "out");
    ProgramBuilder b;
    Register p = b.pointerArgument("out", Elem::I32), v = b.argument("x", Elem::I32);
    Register c = b.compare(CompareOp::SLt, v, b.constant(Elem::I32, 5));
    uint32_t branch = b.add(Op::Branch, Elem::I1, {c}, {}, {0});
    b.store(p, b.constant(Elem::I32, 10));
    uint32_t skip = b.add(Op::Jump, Elem::I32, {}, {}, {0});
    b.patch(branch, b.pc());
    b.store(p, b.constant(Elem::I32, 20));
    b.patch(skip, b.pc());
    ASSERT_EQ(launchAll(world, b.finish(), {1, 1, 1}, {{out, uint64_t(x)}}), World::Stop::Done) << renderAll(world);
    EXPECT_EQ(*at<int32_t>(out), x < 5 ? 10 : 20);
  }
}

TEST(Control, LanesTakeBothSidesAndNest) {
  World world({.rankCount = 1});
  Address out = world.allocate(0, 64 * 4, MemoryKind::Local, false, "out");
  ProgramBuilder b;
  Register p = b.pointerArgument("out", Elem::I32);
  Register tid = b.tid(), to = b.offset(p, tid, 4), value = b.lanes(Elem::I32);
  auto lanesConstant = [&](int64_t v) { return b.spread(b.constant(Elem::I32, v)); };
  Register low = b.compare(CompareOp::SLt, tid, lanesConstant(40)),
           veryLow = b.compare(CompareOp::SLt, tid, lanesConstant(8));
  Register ten = lanesConstant(10), twenty = lanesConstant(20), thirty = lanesConstant(30);
  uint32_t outer = b.add(Op::IfBegin, Elem::I1, {low}, {}, {0});
  b.add(Op::MaskedCopy, Elem::I32, {ten}, {value});
  uint32_t inner = b.add(Op::IfBegin, Elem::I1, {veryLow}, {}, {0});
  b.add(Op::MaskedCopy, Elem::I32, {thirty}, {value});
  b.patch(inner, b.pc());
  uint32_t innerElse = b.add(Op::IfElse, Elem::I1, {}, {}, {0});
  b.patch(innerElse, b.pc());
  b.add(Op::IfEnd, Elem::I1, {});
  b.patch(outer, b.pc());
  uint32_t outerElse = b.add(Op::IfElse, Elem::I1, {}, {}, {0});
  b.add(Op::MaskedCopy, Elem::I32, {twenty}, {value});
  b.patch(outerElse, b.pc());
  b.add(Op::IfEnd, Elem::I1, {});
  b.add(Op::St, Elem::I32, {to, value}, {}, {0, 1, 1});
  ASSERT_EQ(launchAll(world, b.finish(), {1, 1, 1}, {{out}}, 2), World::Stop::Done) << renderAll(world);
  for (int t = 0; t < 64; ++t) EXPECT_EQ(at<int32_t>(out)[t], t < 8 ? 30 : t < 40 ? 10 : 20) << t;
}

TEST(Control, LanesLeaveALoopAtDifferentTimes) {
  World world({.rankCount = 1});
  Address out = world.allocate(0, 32 * 4, MemoryKind::Local, false, "out");
  ProgramBuilder b;
  Register p = b.pointerArgument("out", Elem::I32);
  Register tid = b.tid(), to = b.offset(p, tid, 4), count = b.lanes(Elem::I32);
  Register zero = b.spread(b.constant(Elem::I32, 0)), one = b.spread(b.constant(Elem::I32, 1));
  b.add(Op::Copy, Elem::I32, {zero}, {count});
  b.add(Op::LoopBegin, Elem::I1, {});
  uint32_t head = b.pc();
  Register go = b.compare(CompareOp::SLt, count, tid);
  uint32_t test = b.add(Op::LoopTest, Elem::I1, {go}, {}, {0});
  Register next = b.binary(BinaryOp::AddI, count, one);
  b.add(Op::MaskedCopy, Elem::I32, {next}, {count});
  b.add(Op::Jump, Elem::I32, {}, {}, {head});
  b.patch(test, b.pc());
  b.add(Op::LoopEnd, Elem::I1, {});
  b.add(Op::St, Elem::I32, {to, count}, {}, {0, 1, 1});
  ASSERT_EQ(launchAll(world, b.finish(), {1, 1, 1}, {{out}}, 1), World::Stop::Done) << renderAll(world);
  for (int t = 0; t < 32; ++t) EXPECT_EQ(at<int32_t>(out)[t], t);
}

// Programs take tickets: who gets which depends on the seed alone.
std::vector<int32_t> tickets(uint64_t seed, std::vector<Span>* spans = nullptr) {
  World world({.rankCount = 1, .seed = seed, .slotsPerRank = 8, .trace = true});
  Address counter = world.allocate(0, 4, MemoryKind::Local, true, "counter"),
          out = world.allocate(0, 16 * 4, MemoryKind::Local, false, "out");
  ProgramBuilder b;
  Register c = b.pointerArgument("counter", Elem::I32), o = b.pointerArgument("out", Elem::I32);
  Register id = b.uniform(Elem::I32), ticket = b.uniform(Elem::I32);
  b.add(Op::ProgramId, Elem::I32, {}, {id}, {0});
  b.add(Op::AtomicRmw, Elem::I32, {c, b.constant(Elem::I32, 1), kNone}, {ticket}, {0, 1, 0}, uint8_t(RmwOp::Add));
  b.store(b.offset(o, id, 4), ticket);
  EXPECT_EQ(launchAll(world, b.finish(), {16, 1, 1}, {{counter, out}}), World::Stop::Done) << renderAll(world);
  if (spans) *spans = world.trace().spans;
  return {at<int32_t>(out), at<int32_t>(out) + 16};
}

TEST(Control, TheSeedDecidesTheOrder) {
  std::vector<Span> first, second;
  EXPECT_EQ(tickets(3, &first), tickets(3, &second));
  ASSERT_EQ(first.size(), second.size());
  for (size_t k = 0; k < first.size(); ++k) {
    EXPECT_EQ(first[k].beginNs, second[k].beginNs);
    EXPECT_EQ(first[k].program, second[k].program);
  }
  bool differs = false;
  for (uint64_t seed = 0; seed < 8; ++seed) differs = differs || tickets(seed) != tickets(3);
  EXPECT_TRUE(differs);
}

TEST(Control, DivisionByZeroGoesOn) {
  World world({.rankCount = 1});
  ProgramBuilder b;
  Register x = b.argument("x", Elem::I32);
  b.binary(BinaryOp::DivS, b.constant(Elem::I32, 8), x);
  b.binary(BinaryOp::RemU, b.constant(Elem::I32, 8), x);
  EXPECT_EQ(launchAll(world, b.finish(), {1, 1, 1}, {{0}}), World::Stop::Done);
}

TEST(Control, PrintNamesEveryOpImmediateAndLine) {
  ProgramBuilder b("k");
  Register p = b.pointerArgument("p", Elem::F32);
  b.store(b.offset(p, b.constant(Elem::I32, 3), 4), b.constant(Elem::F32, 0));
  b.add(Op::Permute, Elem::F32, {p}, {p}, {1, 0});
  b.add(Op::Wait, Elem::I64, {p, p, p}, {p}, {2, 1, 5});
  std::string text = print(*b.finish());
  EXPECT_NE(text.find(" bytes=4  ;"), std::string::npos) << text;
  EXPECT_NE(text.find(" source=1 source=0  ;"), std::string::npos) << text;
  EXPECT_NE(text.find(" scope=2 semantic=1 compare=5  ;"), std::string::npos) << text;
  EXPECT_NE(text.find("argument r0 p: *f32"), std::string::npos) << text;
  EXPECT_NE(text.find("store f32"), std::string::npos) << text;
  EXPECT_NE(text.find("; line 4"), std::string::npos) << text;
}

}  // namespace
}  // namespace tandem::interpreter::test
