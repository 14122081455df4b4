// These tests have races, and programs without them, between programs, streams, ranks and transfers, and check the
// reports' text.
#include "interpreter/check/polls.h"
#include "interpreter/test/program_builder.h"
#include <gtest/gtest.h>

namespace tandem::interpreter::test {
namespace {

constexpr int64_t kRelaxed = 0, kAcquire = 1, kRelease = 2, kGpu = 1, kSys = 2, kSet = 0, kEq = 0, kBlock = 2;

std::vector<Address> symmetric(World& w, uint64_t bytes, const std::string& name) {
  std::vector<Address> all;
  for (int r = 0; r < w.options().rankCount; ++r)
    all.push_back(w.allocate(r, bytes, MemoryKind::Symmetric, true, name));
  return all;
}

std::string only(const World& w) { return w.reports().empty() ? "no report" : renderAll(w); }

// Every program stores a row of 16 words at pid * step.
ProgramPtr storeRows(int64_t step) {
  ProgramBuilder b("rows");
  Register p = b.pointerArgument("x", Elem::I32), pid = b.uniform(Elem::I32);
  b.add(Op::ProgramId, Elem::I32, {}, {pid}, {0});
  Register base = b.offset(p, b.binary(BinaryOp::MulI, pid, b.constant(Elem::I32, step)), 4);
  Register rows = b.offset(b.splat(base, {16}), b.range(16), 4);
  b.store(rows, b.splat(pid, {16}));
  return b.finish();
}

TEST(Race, OverlappingStoresOfTwoPrograms) {
  World apart({.check = true});
  Address x = apart.allocate(0, 1024, MemoryKind::Local, true, "x");
  EXPECT_EQ(launchAll(apart, storeRows(16), {8, 1, 1}, {{x}}), World::Stop::Done) << only(apart);
  World world({.seed = 7, .check = true});
  x = world.allocate(0, 1024, MemoryKind::Local, true, "x");
  EXPECT_EQ(launchAll(world, storeRows(15), {8, 1, 1}, {{x}}), World::Stop::Done);
  EXPECT_TRUE(hasReport(world, "race"));
  std::string text = only(world);
  EXPECT_NE(text.find("store (write) of `x`["), std::string::npos) << text;
  EXPECT_NE(text.find("first access"), std::string::npos) << text;
  EXPECT_NE(text.find("(M13)"), std::string::npos) << text;
  EXPECT_NE(text.find("seed 7"), std::string::npos) << text;
}

TEST(Race, NothingIsCheckedUnlessAsked) {
  World world({});
  Address x = world.allocate(0, 1024, MemoryKind::Local, true, "x");
  EXPECT_EQ(launchAll(world, storeRows(15), {8, 1, 1}, {{x}}), World::Stop::Done);
}

// A kernel on stream 0 and a copy of its result on another.
bool copyIsReported(uint64_t seed, bool event) {
  World world({.seed = seed, .check = true});
  Address x = world.allocate(0, 512, MemoryKind::Local, true, "x"),
          y = world.allocate(0, 512, MemoryKind::Local, true, "y");
  StreamId other = world.createStream(0);
  Launch launch;
  launch.program = storeRows(16);
  launch.grid = {8, 1, 1};
  launch.arguments.push_back({x});
  world.launch(0, 0, std::move(launch));
  if (event) world.waitEvent(0, other, world.recordEvent(0, 0));
  world.copyAsync(0, other, y, x, 512);
  World::Stop stop = world.run([&] { return world.idle(0); });
  EXPECT_EQ(stop, World::Stop::Done) << only(world);
  return hasReport(world, "race");
}

TEST(Race, StreamsNeedAnEvent) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_TRUE(copyIsReported(seed, false));
    EXPECT_FALSE(copyIsReported(seed, true));
  }
}

// Rank 0 stores to rank 1 and sets a flag there with one order and scope; rank 1 spins on it with another and loads.
std::string handOver(uint64_t seed, int64_t storeOrder, int64_t storeScope, int64_t loadOrder, int64_t loadScope) {
  World world({.rankCount = 2, .seed = seed, .check = true});
  auto x = symmetric(world, 64, "x"), flag = symmetric(world, 8, "flag");
  ProgramBuilder b;
  Register p = b.pointerArgument("x", Elem::I64), f = b.pointerArgument("flag", Elem::I64), rank = b.uniform(Elem::I32),
           one = b.constant(Elem::I64, 1), peer = b.constant(Elem::I32, 1);
  b.add(Op::Rank, Elem::I32, {kNone}, {rank});
  uint32_t branch = b.add(Op::Branch, Elem::I1, {b.compare(CompareOp::Eq, rank, b.constant(Elem::I32, 0))}, {}, {0});
  Register px = b.uniform(Elem::I64), pf = b.uniform(Elem::I64);
  b.add(Op::SymmAt, Elem::I64, {p, peer}, {px});
  b.add(Op::SymmAt, Elem::I64, {f, peer}, {pf});
  b.store(px, one);
  b.add(Op::St, Elem::I64, {pf, one}, {}, {storeOrder, storeScope, 0});
  uint32_t jump = b.add(Op::Jump, Elem::I32, {}, {}, {0});
  uint32_t loop = b.pc();
  b.patch(branch, loop);
  Register seen = b.uniform(Elem::I64);
  b.add(Op::Ld, Elem::I64, {f}, {seen}, {loadOrder, loadScope, 0});
  uint32_t done = b.add(Op::Branch, Elem::I1, {b.compare(CompareOp::Ne, seen, one)}, {}, {0});
  b.add(Op::Jump, Elem::I32, {}, {}, {loop});
  b.patch(done, b.pc());
  b.load(p, Elem::I64);
  b.patch(jump, b.pc());
  launchAll(world, b.finish(), {1, 1, 1}, {{x[0], flag[0]}, {x[1], flag[1]}});
  return world.reports().empty() ? "" : renderAll(world);
}

// A loop around one load of `p`: until it equals one, or with a store in it.
ProgramPtr loopAroundLoad(bool stores) {
  ProgramBuilder b;
  Register p = b.pointerArgument("x", Elem::I64), one = b.constant(Elem::I64, 1), seen = b.uniform(Elem::I64);
  uint32_t loop = b.pc();
  b.add(Op::Ld, Elem::I64, {p}, {seen}, {kAcquire, kGpu, 0});
  if (stores) b.store(p, one);
  uint32_t done = b.add(Op::Branch, Elem::I1, {b.compare(CompareOp::Ne, seen, one)}, {}, {0});
  b.add(Op::LoopBack, Elem::I64, {}, {}, {loop});
  b.patch(done, b.pc());
  return b.finish();
}

TEST(Polls, AreLoopsThatOnlyLoadAndCompare) {
  auto polls = check::findPolls(*loopAroundLoad(false));
  ASSERT_EQ(polls.size(), 1u);
  EXPECT_EQ(polls.begin()->second.last, polls.begin()->first + 3);
  EXPECT_TRUE(check::findPolls(*loopAroundLoad(true)).empty());
}

TEST(Race, ReleaseAndAcquireAtTheRightScope) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(handOver(seed, kRelease, kSys, kAcquire, kSys), "");
    EXPECT_NE(handOver(seed, kRelaxed, kSys, kAcquire, kSys).find("race"), std::string::npos);
    EXPECT_NE(handOver(seed, kRelease, kSys, kRelaxed, kSys).find("must acquire (M4, M6)"), std::string::npos);
    EXPECT_NE(handOver(seed, kRelease, kGpu, kAcquire, kSys).find("between ranks it must be `sys` (M14)"),
              std::string::npos);
    EXPECT_NE(handOver(seed, kRelease, kSys, kAcquire, kGpu).find("between ranks it must be `sys` (M14)"),
              std::string::npos);
  }
}

enum class Between { Nothing, Fence, Quiet };
// Rank 0 puts without blocking, then signals rank 1, which waits and loads.
std::string putThenSignal(uint64_t seed, Between between) {
  World world({.rankCount = 2, .seed = seed, .check = true});
  auto x = symmetric(world, 64, "x"), y = symmetric(world, 64, "y"), flag = symmetric(world, 8, "flag");
  ProgramBuilder b;
  Register p = b.pointerArgument("x", Elem::I64), q = b.pointerArgument("y", Elem::I64),
           f = b.pointerArgument("flag", Elem::I64);
  Register rank = b.uniform(Elem::I32), one32 = b.constant(Elem::I32, 1), one = b.constant(Elem::I64, 1),
           bytes = b.constant(Elem::I64, 64);
  b.add(Op::Rank, Elem::I32, {kNone}, {rank});
  uint32_t branch = b.add(Op::Branch, Elem::I1, {b.compare(CompareOp::Eq, rank, b.constant(Elem::I32, 0))}, {}, {0});
  b.add(Op::Put, Elem::I64, {q, p, bytes, one32}, {}, {1, kBlock});
  if (between == Between::Fence) b.add(Op::Fence, Elem::I64, {});
  if (between == Between::Quiet) b.add(Op::Quiet, Elem::I64, {kNone});
  b.add(Op::Signal, Elem::I64, {f, one, one32}, {}, {kSet});
  b.add(Op::Quiet, Elem::I64, {kNone});
  uint32_t jump = b.add(Op::Jump, Elem::I32, {}, {}, {0});
  b.patch(branch, b.pc());
  Register seen = b.uniform(Elem::I64);
  b.add(Op::SignalWait, Elem::I64, {f, one}, {seen}, {kEq});
  b.load(q, Elem::I64);
  b.patch(jump, b.pc());
  launchAll(world, b.finish(), {1, 1, 1}, {{x[0], y[0], flag[0]}, {x[1], y[1], flag[1]}});
  return world.reports().empty() ? "" : renderAll(world);
}

TEST(Race, AFenceOrdersPutsBeforeASignal) {
  bool found = false;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(putThenSignal(seed, Between::Fence), "");
    EXPECT_EQ(putThenSignal(seed, Between::Quiet), "");
    std::string text = putThenSignal(seed, Between::Nothing);
    found = found || text.find("(M9)") != std::string::npos;
    EXPECT_NE(text.find("race"), std::string::npos) << seed;
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace tandem::interpreter::test
