// These tests check the reports when nothing can run: waits, spins, barriers, programs that cannot start.
#include "interpreter/test/program_builder.h"
#include "interpreter/vm/machine.h"
#include <gtest/gtest.h>

namespace tandem::interpreter::test {
namespace {

bool has(const World& w, const std::string& text) { return renderAll(w).find(text) != std::string::npos; }

TEST(Deadlock, NamesTheSignalAndItsLastWriter) {
  World world({.rankCount = 2});
  Address flag[2];
  for (int r = 0; r < 2; ++r) flag[r] = world.allocate(r, 16, MemoryKind::Symmetric, true, "flag");
  ProgramBuilder b;
  Register f = b.offsetBy(b.pointerArgument("flag", Elem::I64), 8), rank = b.uniform(Elem::I32),
           one = b.constant(Elem::I64, 1);
  b.add(Op::Rank, Elem::I32, {kNone}, {rank});
  Register isZero = b.compare(CompareOp::Eq, rank, b.constant(Elem::I32, 0));
  uint32_t branch = b.add(Op::Branch, Elem::I1, {isZero}, {}, {0});
  uint32_t notify = b.add(Op::Notify, Elem::I64, {f, b.constant(Elem::I32, 1), one}, {}, {0, 2});
  b.patch(branch, b.pc());
  Register token = b.uniform(Elem::I32);
  uint32_t waits =
      b.add(Op::Wait, Elem::I64, {f, b.constant(Elem::I32, 1), b.constant(Elem::I64, 2)}, {token}, {2, 1, 0});
  EXPECT_EQ(launchAll(world, b.finish(), {1, 1, 1}, {{flag[0]}, {flag[1]}}), World::Stop::Stuck);
  EXPECT_TRUE(world.reports().empty());
  world.reportStuck({"rank 0 waits in synchronize"});
  ASSERT_TRUE(hasReport(world, "deadlock"));
  EXPECT_TRUE(has(world, "2 programs wait")) << renderAll(world);
  EXPECT_TRUE(
      has(world, "rank 0, program (0,0,0), kernel `kernel` expects `flag` + 8 of rank 0 == 2, sees 0; never written"))
      << renderAll(world);
  std::string writer =
      "expects `flag` + 8 of rank 1 == 2, sees 1; last written by rank 0, program (0,0,0) of `kernel` at kernel.py:" +
      std::to_string(notify + 1) + ", value 1";
  EXPECT_TRUE(has(world, writer)) << renderAll(world);
  EXPECT_TRUE(has(world, "kernel.py:" + std::to_string(waits + 1))) << renderAll(world);
  EXPECT_TRUE(has(world, "rank 0 waits in synchronize"));
}

// while ld(flag) != 1: pass, as a uniform loop.
ProgramPtr spinUniform() {
  ProgramBuilder b("spin");
  Register f = b.pointerArgument("flag", Elem::I64), seen = b.uniform(Elem::I64), one = b.constant(Elem::I64, 1);
  uint32_t head = b.pc();
  b.add(Op::Ld, Elem::I64, {f}, {seen}, {1, 2, 0});
  Register go = b.compare(CompareOp::Ne, seen, one);
  uint32_t exit = b.add(Op::Branch, Elem::I1, {go}, {}, {0});
  b.add(Op::LoopBack, Elem::I64, {seen}, {}, {head});
  b.patch(exit, b.pc());
  return b.finish();
}

// The same in thread 0 of a per-thread program, with compare-and-swap.
ProgramPtr spinLanes() {
  ProgramBuilder b("spin");
  Register f = b.pointerArgument("flag", Elem::I64), tid = b.tid();
  Register zero = b.compare(CompareOp::Eq, tid, b.spread(b.constant(Elem::I32, 0)));
  Register one = b.spread(b.constant(Elem::I64, 1)), seen = b.lanes(Elem::I64);
  uint32_t ifBegin = b.add(Op::IfBegin, Elem::I1, {zero}, {}, {0});
  b.add(Op::LoopBegin, Elem::I1, {});
  uint32_t head = b.pc();
  b.add(Op::AtomicCas, Elem::I64, {b.spread(f), one, one}, {seen}, {1, 2, 1});
  Register go = b.compare(CompareOp::Ne, seen, one);
  uint32_t test = b.add(Op::LoopTest, Elem::I1, {go}, {}, {0});
  b.add(Op::Jump, Elem::I64, {}, {}, {head});
  b.patch(test, b.pc());
  b.add(Op::LoopEnd, Elem::I1, {});
  b.patch(ifBegin, b.pc());
  uint32_t otherwise = b.add(Op::IfElse, Elem::I1, {}, {}, {0});
  b.patch(otherwise, b.pc());
  b.add(Op::IfEnd, Elem::I1, {});
  b.add(Op::ThreadBarrier, Elem::I1, {});
  return b.finish();
}

TEST(Deadlock, ASpinSleepsAndIsReported) {
  for (const ProgramPtr& program : {spinUniform(), spinLanes()}) {
    World world({.rankCount = 1});
    Address flag = world.allocate(0, 8, MemoryKind::Symmetric, true, "flag");
    EXPECT_EQ(launchAll(world, program, {1, 1, 1}, {{flag}}), World::Stop::Stuck) << renderAll(world);
    EXPECT_LT(world.counters().instructions, 200u);
    world.reportStuck({});
    EXPECT_TRUE(has(world, "loops until memory changes: reads `flag` + 0 of rank 0, sees 0")) << renderAll(world);
  }
}

TEST(Deadlock, ASpinWakesWhenMemoryChanges) {
  for (const ProgramPtr& program : {spinUniform(), spinLanes()})
    for (uint64_t seed = 0; seed < 10; ++seed) {
      World world({.rankCount = 1, .seed = seed});
      Address flag = world.allocate(0, 8, MemoryKind::Symmetric, true, "flag");
      ASSERT_EQ(launchAll(world, program, {3, 1, 1}, {{flag}}), World::Stop::Stuck);
      StreamId other = world.createStream(0);
      world.signalWriteAsync(0, other, flag, 1, 8, SignalKind::Set);
      ASSERT_EQ(world.run([&] { return world.idle(0); }), World::Stop::Done) << renderAll(world);
    }
}

TEST(Deadlock, BarriersNameWhoIsMissing) {
  World world({.rankCount = 3});
  ProgramBuilder b;
  b.add(Op::Barrier, Elem::I32, {b.constant(Elem::I32, 0)}, {}, {0, 2});
  ProgramPtr p = b.finish();
  for (int r = 0; r < 2; ++r) {
    Launch l;
    l.program = p;
    world.launch(r, 0, l);
  }
  EXPECT_EQ(world.run([] { return false; }), World::Stop::Stuck);
  world.reportStuck({});
  EXPECT_TRUE(has(world, "is in a barrier: has arrived; not arrived: rank 2")) << renderAll(world);
}

TEST(Deadlock, ProgramsWithoutASlotAreCounted) {
  World world({.rankCount = 1, .slotsPerRank = 2});
  Address flag = world.allocate(0, 8, MemoryKind::Symmetric, true, "flag");
  EXPECT_EQ(launchAll(world, spinUniform(), {5, 1, 1}, {{flag}}), World::Stop::Stuck);
  world.reportStuck({});
  EXPECT_TRUE(has(world, "3 programs of `spin` on rank 0 have not started: all 2 slots are taken")) << renderAll(world);
}

TEST(Deadlock, StreamsAreWaitersToo) {
  World world({.rankCount = 2});
  Address flag[2];
  for (int r = 0; r < 2; ++r) flag[r] = world.allocate(r, 8, MemoryKind::Symmetric, true, "flag");
  world.signalWaitAsync(0, 0, flag[0], Compare::Ge, 3, 8);
  world.barrierAsync(1, 0, 0);
  EXPECT_EQ(world.run([] { return false; }), World::Stop::Stuck);
  world.reportStuck({});
  EXPECT_TRUE(has(world, "rank 0, stream 0, signal wait expects `flag` + 0 of rank 0 >= 3, sees 0; never written"))
      << renderAll(world);
  EXPECT_TRUE(has(world, "rank 1, stream 0 is in a barrier: has arrived; not arrived: rank 0")) << renderAll(world);
}

TEST(Deadlock, CollectivesInDifferentOrder) {
  World world({.rankCount = 2});
  std::vector<std::vector<uint64_t>> arguments;
  for (int r = 0; r < 2; ++r) arguments.push_back({world.allocate(r, 64, MemoryKind::Symmetric, true, "x")});
  ProgramBuilder b;
  Register x = b.pointerArgument("x", Elem::I64), rank = b.uniform(Elem::I32), bytes = b.constant(Elem::I64, 8),
           root = b.constant(Elem::I32, 0);
  b.add(Op::Rank, Elem::I32, {kNone}, {rank});
  uint32_t branch = b.add(Op::Branch, Elem::I1, {b.compare(CompareOp::Eq, rank, root)}, {}, {0});
  b.add(Op::Barrier, Elem::I32, {kNone}, {}, {0, 2});
  b.patch(branch, b.pc());
  b.add(Op::Broadcastmem, Elem::I32, {kNone, x, x, bytes, root}, {}, {2});
  EXPECT_EQ(launchAll(world, b.finish(), {1, 1, 1}, arguments), World::Stop::Error);
  std::string text = renderAll(world);
  EXPECT_TRUE(hasReport(world, "collective-mismatch")) << text;
  EXPECT_NE(text.find("all members call them in the same order (M12)"), std::string::npos) << text;
  EXPECT_NE(text.find("is here"), std::string::npos) << text;
}

TEST(Waiting, OnlyWhoWatchesTheBytesIsWoken) {
  Machine m({.rankCount = 1});
  Allocation& a = *m.arena.allocate(0, 4096, MemoryKind::Local, true).allocation;
  std::vector<Task> words(64);
  Task wide, both;
  auto wait = [&](Task& t, uint64_t offset, uint32_t bytes) { m.watch(t, a.begin + offset, bytes); };
  for (size_t k = 0; k < words.size(); ++k) wait(words[k], k * 8, 8);
  wait(wide, 100, 300);
  wait(both, 0, 4);
  wait(both, 2048, 4);
  for (Task& t : words) m.block(t, Blocked::Signal);
  m.block(wide, Blocked::Signal);
  m.block(both, Blocked::Signal);
  m.wakeWaiters(a, a.begin + 396, 8);  // the last bytes of `wide`, words 49 and 50
  EXPECT_EQ(m.runnable.size(), 3u);
  EXPECT_EQ(wide.blocked, Blocked::No);
  EXPECT_EQ(words[48].blocked, Blocked::Signal);
  EXPECT_EQ(words[49].blocked, Blocked::No);
  EXPECT_EQ(words[50].blocked, Blocked::No);
  EXPECT_EQ(words[51].blocked, Blocked::Signal);
  m.wakeWaiters(a, a.begin + 2044, 4);
  EXPECT_EQ(m.runnable.size(), 3u);
  m.wakeWaiters(a, a.begin + 2047, 2);
  EXPECT_EQ(both.blocked, Blocked::No);
  m.wakeWaiters(a, a.begin, 4096);
  EXPECT_TRUE(m.blockedTasks.empty());
  EXPECT_TRUE(a.waiters.empty());
}

}  // namespace
}  // namespace tandem::interpreter::test
