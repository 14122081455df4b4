// Streams: order, overlap, copy engine, events, signals, callbacks; the trace's modelled time.
#include "interpreter/test/program_builder.h"
#include <gtest/gtest.h>

namespace tandem::interpreter::test {
namespace {

bool allIdle(World& w) {
  for (int r = 0; r < w.options().rankCount; ++r)
    if (!w.idle(r)) return false;
  return true;
}

TEST(Stream, CopiesSignalsAndEventsInOrder) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    World world({.rankCount = 2, .seed = seed});
    Address data[2], flag[2];
    constexpr uint64_t kBytes = 100000;
    for (int r = 0; r < 2; ++r) {
      data[r] = world.allocate(r, kBytes, MemoryKind::Symmetric, false, "data");
      flag[r] = world.allocate(r, 8, MemoryKind::Symmetric, true, "flag");
    }
    StreamId side = world.createStream(0);
    world.setAsync(0, 0, data[0], 5, kBytes);
    EventId filled = world.recordEvent(0, 0);
    world.waitEvent(0, side, filled);
    world.copyAsync(0, side, data[1], data[0], kBytes);
    world.signalWriteAsync(0, side, flag[1], 1, 8, SignalKind::Set);
    world.signalWaitAsync(1, 0, flag[1], Compare::Eq, 1, 8);
    int seen = -1;
    world.callbackAsync(1, 0, [&] { seen = at<uint8_t>(data[1])[kBytes - 1]; });
    ASSERT_EQ(world.run([&] { return allIdle(world); }), World::Stop::Done) << renderAll(world);
    EXPECT_EQ(seen, 5);
    EXPECT_EQ(world.counters().copyBytes, 2 * kBytes);
    world.finish();
    EXPECT_TRUE(world.reports().empty()) << renderAll(world);
  }
}

TEST(Stream, ACopyOutOfBoundsIsReported) {
  World world({.rankCount = 1});
  Address a = world.allocate(0, 64, MemoryKind::Local, true, "a"),
          c = world.allocate(0, 32, MemoryKind::Local, true, "c");
  world.copyAsync(0, 0, c, a, 64);
  EXPECT_EQ(world.run([&] { return world.idle(0); }), World::Stop::Error);
  EXPECT_TRUE(hasReport(world, "out-of-bounds"));
  EXPECT_NE(world.reports()[0].message.find("copy on stream 0 of rank 0"), std::string::npos) << renderAll(world);
}

TEST(Stream, AKernelSeesTheOneBefore) {
  World world({.rankCount = 1, .slotsPerRank = 4});
  Address a = world.allocate(0, 8, MemoryKind::Local, true, "a");
  ProgramBuilder b;
  Register p = b.pointerArgument("a", Elem::I64), old = b.uniform(Elem::I64);
  b.add(Op::AtomicRmw, Elem::I64, {p, b.constant(Elem::I64, 1), kNone}, {old}, {0, 1, 0}, uint8_t(RmwOp::Add));
  ProgramPtr program = b.finish();
  std::vector<int64_t> after;
  for (int k = 0; k < 3; ++k) {
    Launch l;
    l.program = program;
    l.grid = {10, 2, 1};
    l.arguments = {{a}};
    world.launch(0, 0, l);
    world.callbackAsync(0, 0, [&] { after.push_back(*at<int64_t>(a)); });
  }
  ASSERT_EQ(world.run([&] { return world.idle(0); }), World::Stop::Done);
  EXPECT_EQ(after, (std::vector<int64_t>{20, 40, 60}));
  EXPECT_EQ(world.counters().programs, 60u);
  EXPECT_EQ(world.counters().launches, 3u);
}

TEST(Stream, AnEmptyGridCompletes) {
  World world({.rankCount = 1});
  ProgramBuilder b;
  Launch l;
  l.program = b.finish();
  l.grid = {0, 1, 1};
  world.launch(0, 0, l);
  EXPECT_EQ(world.run([&] { return world.idle(0); }), World::Stop::Done);
}

TEST(Stream, AWaitEndsWhenTheWriterWrote) {
  World world({.rankCount = 2, .trace = true});
  Address flag[2], data[2];
  for (int r = 0; r < 2; ++r) {
    flag[r] = world.allocate(r, 8, MemoryKind::Symmetric, true, "flag");
    data[r] = world.allocate(r, 1 << 20, MemoryKind::Symmetric, true, "data");
  }
  world.copyAsync(0, 0, data[1], data[0], 1 << 20);
  world.signalWriteAsync(0, 0, flag[1], 1, 8, SignalKind::Set);
  ProgramBuilder b;
  Register f = b.pointerArgument("flag", Elem::I64), token = b.uniform(Elem::I32);
  b.add(Op::Wait, Elem::I64, {f, b.constant(Elem::I32, 1), b.constant(Elem::I64, 1)}, {token}, {2, 1, 0});
  Launch l;
  l.program = b.finish();
  l.arguments = {{flag[1]}};
  world.launch(1, 0, l);
  ASSERT_EQ(world.run([&] { return allIdle(world); }), World::Stop::Done) << renderAll(world);
  int64_t copyEnd = 0, kernelEnd = 0;
  for (const Span& s : world.trace().spans) {
    EXPECT_LE(s.beginNs, s.endNs);
    if (s.kind == SpanKind::Copy) copyEnd = s.endNs;
    if (s.kind == SpanKind::Kernel) kernelEnd = s.endNs;
  }
  EXPECT_GT(copyEnd, 1000);
  EXPECT_GE(kernelEnd, copyEnd);
}

}  // namespace
}  // namespace tandem::interpreter::test
