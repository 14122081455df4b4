// Per-thread code: vectors, shared memory, warps, atomics once a thread or once a program.
#include "interpreter/test/program_builder.h"
#include <gtest/gtest.h>

namespace tandem::interpreter::test {
namespace {

TEST(Simt, AtomicsOnceAThreadAndOnceAProgram) {
  for (int64_t perThread : {0, 1}) {
    World world({.rankCount = 1});
    Address count = world.allocate(0, 4, MemoryKind::Local, true, "count"),
            out = world.allocate(0, 64 * 4, MemoryKind::Local, false, "out");
    ProgramBuilder b;
    Register c = b.pointerArgument("count", Elem::I32), o = b.pointerArgument("out", Elem::I32), tid = b.tid(),
             old = b.lanes(Elem::I32);
    b.add(Op::AtomicRmw, Elem::I32, {c, b.constant(Elem::I32, 1), kNone}, {old}, {0, 1, perThread},
          uint8_t(RmwOp::Add));
    b.add(Op::St, Elem::I32, {b.offset(o, tid, 4), old}, {}, {0, 1, 1});
    ASSERT_EQ(launchAll(world, b.finish(), {1, 1, 1}, {{count, out}}, 2), World::Stop::Done) << renderAll(world);
    EXPECT_EQ(*at<int32_t>(count), perThread ? 64 : 1);
    EXPECT_EQ(at<int32_t>(out)[63], perThread ? 63 : 0);
  }
}

TEST(Simt, AScalarStoreIsTheActiveThreads) {
  for (int64_t limit : {1, 0}) {
    World world({.rankCount = 1});
    Address out = world.allocate(0, 4, MemoryKind::Local, true, "out");
    ProgramBuilder b;
    Register o = b.pointerArgument("out", Elem::I32), tid = b.tid();
    Register chosen =
        b.compare(limit ? CompareOp::SLt : CompareOp::SGt, tid, b.spread(b.constant(Elem::I32, limit ? 5 : 0)));
    uint32_t begin = b.add(Op::IfBegin, Elem::I1, {chosen}, {}, {0});
    b.store(o, b.constant(Elem::I32, 9));
    b.patch(begin, b.pc());
    uint32_t otherwise = b.add(Op::IfElse, Elem::I1, {}, {}, {0});
    b.patch(otherwise, b.pc());
    b.add(Op::IfEnd, Elem::I1, {});
    ASSERT_EQ(launchAll(world, b.finish(), {1, 1, 1}, {{out}}, 1), World::Stop::Done) << renderAll(world);
    EXPECT_EQ(*at<int32_t>(out), 9);
  }
}

TEST(Simt, AScalarStoreOfThreadsThatDifferIsEachOnes) {
  World world({.rankCount = 1});
  Address out = world.allocate(0, 64 * 4, MemoryKind::Local, true, "out");
  ProgramBuilder b;
  Register o = b.pointerArgument("out", Elem::I32), tid = b.tid();
  b.store(b.offset(o, tid, 4), tid);
  ASSERT_EQ(launchAll(world, b.finish(), {1, 1, 1}, {{out}}, 2), World::Stop::Done) << renderAll(world);
  for (int k = 0; k < 64; ++k) EXPECT_EQ(at<int32_t>(out)[k], k);
}

TEST(Simt, VectorsLoadStoreAndExtract) {
  World world({.rankCount = 1});
  Address in = world.allocate(0, 32 * 16, MemoryKind::Local, true, "in"),
          out = world.allocate(0, 32 * 16, MemoryKind::Local, false, "out");
  for (int k = 0; k < 128; ++k) at<int32_t>(in)[k] = k;
  ProgramBuilder b;
  Register i = b.pointerArgument("in", Elem::I32), o = b.pointerArgument("out", Elem::I32), tid = b.tid();
  Register v = b.lanes(Elem::I32, 4), e1 = b.lanes(Elem::I32), e3 = b.lanes(Elem::I32), w = b.lanes(Elem::I32, 4),
           bits = b.lanes(Elem::I64, 2);
  b.add(Op::Ld, Elem::I32, {b.offset(i, tid, 16)}, {v}, {0, 1, 1});
  b.add(Op::VectorExtract, Elem::I32, {v}, {e1}, {1});
  b.add(Op::VectorExtract, Elem::I32, {v}, {e3}, {3});
  b.add(Op::Vector, Elem::I32, {e3, e3, e1, tid}, {w});
  b.add(Op::VectorBitcast, Elem::I32, {w}, {bits});
  b.add(Op::St, Elem::I64, {b.offset(o, tid, 16), bits}, {}, {0, 1, 1});
  ASSERT_EQ(launchAll(world, b.finish(), {1, 1, 1}, {{in, out}}, 1), World::Stop::Done) << renderAll(world);
  for (int t = 0; t < 32; ++t) {
    EXPECT_EQ(at<int32_t>(out)[t * 4 + 0], t * 4 + 3);
    EXPECT_EQ(at<int32_t>(out)[t * 4 + 2], t * 4 + 1);
    EXPECT_EQ(at<int32_t>(out)[t * 4 + 3], t);
  }
}

TEST(Simt, ATilesElementsAreDealtToTheThreadsAndCollected) {
  World world({.rankCount = 1, .slotsPerRank = 2});
  Address each = world.allocate(0, 32 * 4, MemoryKind::Local, true, "each"),
          out = world.allocate(0, 16 * 4, MemoryKind::Local, true, "out");
  ProgramBuilder b;
  Register e = b.pointerArgument("each", Elem::I32), o = b.pointerArgument("out", Elem::I32), tid = b.tid();
  Register got = b.lanes(Elem::I32), tile = b.tile(Elem::I32, {16});
  b.add(Op::Deal, Elem::I32, {b.range(8)}, {got});
  b.add(Op::St, Elem::I32, {b.offset(e, tid, 4), got, kNone}, {}, {0, 0, 1});
  b.add(Op::Collect, Elem::I32, {b.binary(BinaryOp::AddI, got, tid)}, {tile});
  b.store(b.offset(b.splat(o, {16}), b.range(16), 4), tile);
  ASSERT_EQ(launchAll(world, b.finish(), {1, 1, 1}, {{each, out}}, 1), World::Stop::Done) << renderAll(world);
  for (int k = 0; k < 32; ++k) EXPECT_EQ(at<int32_t>(each)[k], k % 8);
  for (int k = 0; k < 16; ++k) EXPECT_EQ(at<int32_t>(out)[k], k % 8 + k);
}

TEST(Simt, AVectorLoadIsAlignedToItsSize) {
  World world({.rankCount = 1});
  Address in = world.allocate(0, 64, MemoryKind::Local, true, "in");
  ProgramBuilder b;
  b.add(Op::Ld, Elem::I32, {b.offsetBy(b.pointerArgument("in", Elem::I32), 4)}, {b.uniform(Elem::I32, 4)}, {0, 1, 1});
  EXPECT_EQ(launchAll(world, b.finish(), {1, 1, 1}, {{in}}, 1), World::Stop::Error);
  EXPECT_TRUE(hasReport(world, "misaligned")) << renderAll(world);
}

TEST(Simt, SharedMemoryTransposes) {
  World world({.rankCount = 1, .slotsPerRank = 2});
  Address out = world.allocate(0, 32 * 4, MemoryKind::Local, false, "out");
  ProgramBuilder b;
  Register o = b.pointerArgument("out", Elem::I32), tid = b.tid(), buffer = b.smem(Elem::I32, {2, 32});
  Register row = b.smem(Elem::I32, {32}), t = b.tile(Elem::I32, {32}), zero = b.constant(Elem::I32, 0),
           one = b.constant(Elem::I32, 1);
  Register mirrored = b.binary(BinaryOp::SubI, b.spread(b.constant(Elem::I32, 31)), tid), got = b.lanes(Elem::I32),
           pointer = b.lanes(Elem::I64);
  b.add(Op::SmemAlloc, Elem::I32, {b.constantTile(Elem::I32, {2, 32}, 0)}, {buffer});
  b.add(Op::SmemStore, Elem::I32, {buffer, tid, one, tid});
  b.add(Op::ThreadBarrier, Elem::I32, {});
  b.add(Op::SmemLoad, Elem::I32, {buffer, one, mirrored}, {got});
  b.add(Op::SmemPtr, Elem::I32, {buffer, zero, tid}, {pointer});
  b.add(Op::St, Elem::I32, {pointer, got}, {}, {0, 0, 1});
  b.add(Op::SmemIndex, Elem::I32, {buffer, zero}, {row});
  b.add(Op::SmemRead, Elem::I32, {row}, {t});
  b.store(b.offset(b.splat(o, {32}), b.range(32), 4), t);
  ASSERT_EQ(launchAll(world, b.finish(), {5, 1, 1}, {{out}}, 1), World::Stop::Done) << renderAll(world);
  for (int k = 0; k < 32; ++k) EXPECT_EQ(at<int32_t>(out)[k], 31 - k);
}

std::string sharedFault(bool index) {
  World world({.rankCount = 1});
  ProgramBuilder b;
  Register tid = b.tid(), buffer = b.smem(Elem::I32, {16}), v = b.lanes(Elem::I32);
  Register at = index ? tid : b.spread(b.constant(Elem::I32, 0));
  b.add(Op::SmemAlloc, Elem::I32, {kNone}, {buffer});
  b.add(Op::SmemLoad, Elem::I32, {buffer, at}, {v});
  launchAll(world, b.finish(), {1, 1, 1}, {{}}, 1);
  return world.reports().empty() ? "" : wordOf(world.reports()[0].kind);
}

TEST(Simt, SharedMemoryFaults) {
  EXPECT_EQ(sharedFault(false), "uninitialised-read");
  ProgramBuilder b;
  Register tid = b.tid(), buffer = b.smem(Elem::I32, {16});
  b.add(Op::SmemAlloc, Elem::I32, {kNone}, {buffer});
  b.add(Op::SmemStore, Elem::I32, {buffer, tid, tid});
  World world({.rankCount = 1});
  launchAll(world, b.finish(), {1, 1, 1}, {{}}, 1);
  EXPECT_TRUE(hasReport(world, "index-out-of-range")) << renderAll(world);
}

TEST(Simt, ShuffleBallotElect) {
  World world({.rankCount = 1});
  Address out = world.allocate(0, 64 * 12, MemoryKind::Local, false, "out");
  ProgramBuilder b;
  Register o = b.pointerArgument("out", Elem::I32), tid = b.tid(), full = b.constant(Elem::I32, -1);
  Register x = b.lanes(Elem::I32), bits = b.lanes(Elem::I32), leader = b.lanes(Elem::I1), leader32 = b.lanes(Elem::I32);
  b.add(Op::Shuffle, Elem::I32, {full, tid, b.constant(Elem::I32, 1)}, {x}, {3});
  Register low = b.compare(CompareOp::SLt, tid, b.spread(b.constant(Elem::I32, 35)));
  b.add(Op::Ballot, Elem::I32, {full, low}, {bits});
  b.add(Op::Elect, Elem::I1, {}, {leader});
  b.add(Op::Convert, Elem::I1, {leader}, {leader32}, {}, uint8_t(ConvertOp::ExtU));
  Register v = b.offset(o, tid, 12);
  Register four = b.spread(b.constant(Elem::I32, 4)), eight = b.spread(b.constant(Elem::I32, 8));
  b.add(Op::St, Elem::I32, {v, x}, {}, {0, 1, 1});
  b.add(Op::St, Elem::I32, {b.offset(v, four, 1), bits}, {}, {0, 1, 1});
  b.add(Op::St, Elem::I32, {b.offset(v, eight, 1), leader32}, {}, {0, 1, 1});
  ASSERT_EQ(launchAll(world, b.finish(), {1, 1, 1}, {{out}}, 2), World::Stop::Done) << renderAll(world);
  for (int t = 0; t < 64; ++t) {
    EXPECT_EQ(at<int32_t>(out)[t * 3], t ^ 1);
    EXPECT_EQ(at<uint32_t>(out)[t * 3 + 1], t < 32 ? 0xffffffffu : 7u);
    EXPECT_EQ(at<int32_t>(out)[t * 3 + 2], t % 32 == 0);
  }
}

TEST(Simt, ABarrierUnderAMaskIsRefused) {
  for (Op op : {Op::ThreadBarrier, Op::WarpBarrier}) {
    World world({.rankCount = 1});
    ProgramBuilder b;
    Register few = b.compare(CompareOp::SLt, b.tid(), b.spread(b.constant(Elem::I32, 3)));
    uint32_t branch = b.add(Op::IfBegin, Elem::I1, {few}, {}, {0});
    b.add(op, Elem::I1, {});
    b.patch(branch, b.pc());
    b.add(Op::IfEnd, Elem::I1, {});
    EXPECT_EQ(launchAll(world, b.finish(), {1, 1, 1}, {{}}, 2), World::Stop::Error);
    EXPECT_TRUE(hasReport(world, op == Op::ThreadBarrier ? "divergent-block-operation" : "non-uniform-warp-operation"))
        << renderAll(world);
  }
}

// Threads below 32 wait for a flag that the others set. Both branches read `scale`, whose last use is in the second.
TEST(Simt, ABranchWaitsForTheOther) {
  World world({.rankCount = 1});
  Address flag = world.allocate(0, 4, MemoryKind::Local, true, "flag"),
          out = world.allocate(0, 64 * 4, MemoryKind::Local, false, "out");
  ProgramBuilder b;
  Register f = b.pointerArgument("flag", Elem::I32), o = b.pointerArgument("out", Elem::I32), tid = b.tid();
  Register zero = b.spread(b.constant(Elem::I32, 0)), one = b.spread(b.constant(Elem::I32, 1));
  Register first = b.compare(CompareOp::SLt, tid, b.spread(b.constant(Elem::I32, 32)));
  Register scale = b.binary(BinaryOp::AddI, tid, one), seen = b.lanes(Elem::I32);
  Register flags = b.offset(f, zero, 4), places = b.offset(o, tid, 4);
  uint32_t begin = b.add(Op::IfBegin, Elem::I1, {first}, {}, {0});
  b.add(Op::LoopBegin, Elem::I32, {});
  uint32_t top = b.add(Op::Ld, Elem::I32, {flags}, {seen}, {1, 1, 0});
  uint32_t test = b.add(Op::LoopTest, Elem::I1, {b.compare(CompareOp::Eq, seen, zero)}, {}, {0});
  b.add(Op::LoopBack, Elem::I32, {}, {}, {top});
  b.patch(test, b.pc());
  b.add(Op::LoopEnd, Elem::I32, {});
  b.add(Op::St, Elem::I32, {places, b.binary(BinaryOp::AddI, scale, zero)}, {}, {0, 1, 0});
  b.patch(begin, b.pc());
  uint32_t otherwise = b.add(Op::IfElse, Elem::I1, {}, {}, {0});
  b.add(Op::St, Elem::I32, {places, scale | kLastUse}, {}, {0, 1, 0});
  b.add(Op::St, Elem::I32, {flags, one}, {}, {2, 1, 0});
  b.patch(otherwise, b.pc());
  b.add(Op::IfEnd, Elem::I1, {});
  ASSERT_EQ(launchAll(world, b.finish(), {1, 1, 1}, {{flag, out}}, 2), World::Stop::Done) << renderAll(world);
  for (int t = 0; t < 64; ++t) EXPECT_EQ(at<int32_t>(out)[t], t + 1);
}

TEST(Simt, MaskedLanesAreNotChecked) {
  World world({.rankCount = 1});
  Address in = world.allocate(0, 16, MemoryKind::Local, true, "in");
  ProgramBuilder b;
  Register p = b.pointerArgument("in", Elem::I32), tid = b.tid(), v = b.lanes(Elem::I32);
  Register few = b.compare(CompareOp::SLt, tid, b.spread(b.constant(Elem::I32, 4)));
  Register pointers = b.offset(p, tid, 4);
  uint32_t begin = b.add(Op::IfBegin, Elem::I1, {few}, {}, {0});
  b.add(Op::Ld, Elem::I32, {pointers}, {v}, {0, 1, 1});
  b.patch(begin, b.pc());
  uint32_t otherwise = b.add(Op::IfElse, Elem::I1, {}, {}, {0});
  b.patch(otherwise, b.pc());
  b.add(Op::IfEnd, Elem::I1, {});
  EXPECT_EQ(launchAll(world, b.finish(), {1, 1, 1}, {{in}}, 1), World::Stop::Done) << renderAll(world);
}

}  // namespace
}  // namespace tandem::interpreter::test
