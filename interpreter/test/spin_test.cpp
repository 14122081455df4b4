// Loops that only wait sleep, whatever they count meanwhile; loops that end by themselves run to their end.
#include "interpreter/test/program_builder.h"
#include <gtest/gtest.h>

namespace tandem::interpreter::test {
namespace {

bool has(const World& w, const std::string& text) { return renderAll(w).find(text) != std::string::npos; }

// tries = 0; while ld(flag) != 1 [and tries < most]: tries += 1; store(out, tries)
ProgramPtr counting(int64_t most) {
  ProgramBuilder b("spin");
  Register f = b.pointerArgument("flag", Elem::I64), out = b.pointerArgument("out", Elem::I64),
           seen = b.uniform(Elem::I64), tries = b.uniform(Elem::I64), one = b.constant(Elem::I64, 1);
  b.add(Op::Copy, Elem::I64, {b.constant(Elem::I64, 0)}, {tries});
  uint32_t head = b.pc();
  b.add(Op::Ld, Elem::I64, {f}, {seen}, {1, 2, 0});
  Register go = b.compare(CompareOp::Ne, seen, one);
  if (most) go = b.binary(BinaryOp::And, go, b.compare(CompareOp::SLt, tries, b.constant(Elem::I64, most)));
  uint32_t exit = b.add(Op::Branch, Elem::I1, {go}, {}, {0});
  b.add(Op::Copy, Elem::I64, {b.binary(BinaryOp::AddI, tries, one)}, {tries});
  b.add(Op::LoopBack, Elem::I64, {tries}, {}, {head});
  b.patch(exit, b.pc());
  b.store(out, tries);
  return b.finish();
}

TEST(Spin, ACounterKeepsNoLoopAlive) {
  for (uint64_t seed = 0; seed < 4; ++seed) {
    World world({.rankCount = 1, .seed = seed});
    Address flag = world.allocate(0, 8, MemoryKind::Symmetric, true, "flag"),
            out = world.allocate(0, 8, MemoryKind::Symmetric, true, "out");
    ASSERT_EQ(launchAll(world, counting(0), {3, 1, 1}, {{flag, out}}), World::Stop::Stuck) << renderAll(world);
    EXPECT_LT(world.counters().instructions, 200u);
    StreamId other = world.createStream(0);
    world.signalWriteAsync(0, other, flag, 1, 8, SignalKind::Set);
    EXPECT_EQ(world.run([&] { return world.idle(0); }), World::Stop::Done) << renderAll(world);
    EXPECT_GT(*at<int64_t>(out), 0);
  }
}

TEST(Spin, ABoundedOneRunsToItsEnd) {
  World world({.rankCount = 1});
  Address flag = world.allocate(0, 8, MemoryKind::Symmetric, true, "flag"),
          out = world.allocate(0, 8, MemoryKind::Symmetric, true, "out");
  ASSERT_EQ(launchAll(world, counting(1000), {1, 1, 1}, {{flag, out}}), World::Stop::Done) << renderAll(world);
  EXPECT_EQ(*at<int64_t>(out), 1000);
}

// total = 0; while ld(flag) != 1: { for k in 0..5: ld(flag); side = 1 - side; total += 1 }
TEST(Spin, RoundsMayTakeTurnsAndHoldLoops) {
  ProgramBuilder b("spin");
  Register f = b.pointerArgument("flag", Elem::I64), seen = b.uniform(Elem::I64), tries = b.uniform(Elem::I64),
           side = b.uniform(Elem::I64), total = b.uniform(Elem::I64), zero = b.constant(Elem::I64, 0),
           one = b.constant(Elem::I64, 1);
  for (Register r : {side, total}) b.add(Op::Copy, Elem::I64, {zero}, {r});
  uint32_t head = b.pc();
  b.add(Op::Ld, Elem::I64, {f}, {seen}, {1, 2, 0});
  uint32_t exit = b.add(Op::Branch, Elem::I1, {b.compare(CompareOp::Ne, seen, one)}, {}, {0});
  b.add(Op::Copy, Elem::I64, {zero}, {tries});
  uint32_t inner = b.pc();
  uint32_t done =
      b.add(Op::Branch, Elem::I1,
            {b.compare(CompareOp::SLt, tries, b.binary(BinaryOp::AddI, side, b.constant(Elem::I64, 5)))}, {}, {0});
  b.add(Op::Copy, Elem::I64, {b.binary(BinaryOp::AddI, tries, one)}, {tries});
  b.add(Op::LoopBack, Elem::I64, {tries}, {}, {inner});
  b.patch(done, b.pc());
  b.add(Op::Copy, Elem::I64, {b.binary(BinaryOp::SubI, one, side)}, {side});
  b.add(Op::Copy, Elem::I64, {b.binary(BinaryOp::AddI, total, one)}, {total});
  b.add(Op::LoopBack, Elem::I64, {side, total}, {}, {head});
  b.patch(exit, b.pc());
  World world({.rankCount = 1});
  Address flag = world.allocate(0, 8, MemoryKind::Symmetric, true, "flag");
  ASSERT_EQ(launchAll(world, b.finish(), {1, 1, 1}, {{flag}}), World::Stop::Stuck) << renderAll(world);
  EXPECT_LT(world.counters().instructions, 2000u);
  world.reportStuck({});
  EXPECT_TRUE(hasReport(world, "livelock"));
  EXPECT_TRUE(has(world, "loops until memory changes: reads `flag` + 0 of rank 0, sees 0, never written"))
      << renderAll(world);
}

// for k in 0..20: { left = 1; while left: left = 0 }
TEST(Spin, ALoopThatIsEnteredAgainBeginsAnew) {
  ProgramBuilder b("again");
  Register begin = b.constant(Elem::I32, 0), end = b.constant(Elem::I32, 20), left = b.uniform(Elem::I64),
           zero = b.constant(Elem::I64, 0), one = b.constant(Elem::I64, 1);
  b.forLoop(begin, end, [&](Register) {
    b.add(Op::Copy, Elem::I64, {one}, {left});
    uint32_t head = b.pc();
    uint32_t exit = b.add(Op::Branch, Elem::I1, {b.compare(CompareOp::Ne, left, zero)}, {}, {0});
    b.add(Op::Copy, Elem::I64, {zero}, {left});
    b.add(Op::LoopBack, Elem::I64, {left}, {}, {head});
    b.patch(exit, b.pc());
  });
  World world({.rankCount = 1});
  EXPECT_EQ(launchAll(world, b.finish(), {1, 1, 1}, {{}}), World::Stop::Done);
}

// Both come to two barriers a round. Between those of the tenth rank 0 sets the flag of rank 1, which looks after each
// round.
TEST(Spin, MeetingsAreProgress) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    ProgramBuilder b("meet");
    Register f = b.pointerArgument("flag", Elem::I64), rank = b.uniform(Elem::I32), seen = b.uniform(Elem::I64),
             round = b.uniform(Elem::I64), one = b.constant(Elem::I64, 1), none = b.constant(Elem::I32, 0);
    b.add(Op::Rank, Elem::I32, {kNone}, {rank});
    b.add(Op::Copy, Elem::I64, {b.constant(Elem::I64, 0)}, {round});
    uint32_t second = b.add(Op::Branch, Elem::I1, {b.compare(CompareOp::Eq, rank, none)}, {}, {0});
    uint32_t head = b.pc();
    uint32_t over = b.add(Op::Branch, Elem::I1, {b.compare(CompareOp::SLt, round, b.constant(Elem::I64, 10))}, {}, {0});
    b.add(Op::Barrier, Elem::I32, {kNone}, {}, {0, 2});
    b.add(Op::Copy, Elem::I64, {b.binary(BinaryOp::AddI, round, one)}, {round});
    uint32_t early = b.add(Op::Branch, Elem::I1, {b.compare(CompareOp::Eq, round, b.constant(Elem::I64, 10))}, {}, {0});
    b.add(Op::Notify, Elem::I64, {f, b.constant(Elem::I32, 1), one}, {}, {0, 2});
    b.patch(early, b.pc());
    b.add(Op::Barrier, Elem::I32, {kNone}, {}, {0, 2});
    b.add(Op::LoopBack, Elem::I64, {round}, {}, {head});
    b.patch(over, b.pc());
    uint32_t end = b.add(Op::Jump, Elem::I64, {}, {}, {0});
    b.patch(second, b.pc());
    uint32_t again = b.pc();
    for (int k = 0; k < 2; ++k) b.add(Op::Barrier, Elem::I32, {kNone}, {}, {0, 2});
    b.add(Op::Ld, Elem::I64, {f}, {seen}, {1, 2, 0});
    uint32_t exit = b.add(Op::Branch, Elem::I1, {b.compare(CompareOp::Ne, seen, one)}, {}, {0});
    b.add(Op::LoopBack, Elem::I64, {}, {}, {again});
    b.patch(exit, b.pc());
    b.patch(end, b.pc());
    World world({.rankCount = 2, .seed = seed});
    std::vector<std::vector<uint64_t>> flags;
    for (int r = 0; r < 2; ++r) flags.push_back({world.allocate(r, 8, MemoryKind::Symmetric, true, "flag")});
    EXPECT_EQ(launchAll(world, b.finish(), {1, 1, 1}, flags), World::Stop::Done) << seed;
  }
}

}  // namespace
}  // namespace tandem::interpreter::test
