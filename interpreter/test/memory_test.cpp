// Bounds, alignment, lifetime, initialised bytes; loads and stores of tiles; memory that grows with use.
#include "interpreter/test/program_builder.h"
#include <gtest/gtest.h>
#include <fstream>
#include <unistd.h>

namespace tandem::interpreter::test {
namespace {

// Loads one i32 at `out` + offset and stores it back.
ProgramPtr touch(int64_t offset, bool write) {
  ProgramBuilder b;
  Register p = b.offsetBy(b.pointerArgument("out", Elem::I32), offset);
  if (write)
    b.store(p, b.constant(Elem::I32, 1));
  else
    b.load(p, Elem::I32);
  return b.finish();
}

std::string faultOf(int64_t offset, bool write, bool initialised = true, bool freed = false) {
  World world({.rankCount = 2});
  Address a = 0;
  for (int r = 0; r < 2; ++r) a = world.allocate(r, 64, MemoryKind::Symmetric, initialised, "buf", "main.py", 7);
  if (freed) world.release(1, a, "main.py", 9);
  Launch l;
  l.program = touch(offset, write);
  l.arguments = {{a}};
  world.launch(1, 0, l);
  world.run([&] { return world.idle(1); });
  return world.reports().empty() ? "" : wordOf(world.reports()[0].kind) + "|" + renderAll(world);
}

TEST(Memory, FaultsAreNamed) {
  EXPECT_EQ(faultOf(60, true), "");
  EXPECT_EQ(faultOf(60, false), "");
  EXPECT_TRUE(faultOf(64, true).starts_with("out-of-bounds|")) << faultOf(64, true);
  EXPECT_TRUE(faultOf(-4, false).starts_with("out-of-bounds|"));
  EXPECT_TRUE(faultOf(62, false).starts_with("out-of-bounds|"));
  EXPECT_TRUE(faultOf(2, false).starts_with("misaligned|")) << faultOf(2, false);
  EXPECT_TRUE(faultOf(0, false, false).starts_with("uninitialised-read|")) << faultOf(0, false, false);
  EXPECT_EQ(faultOf(0, true, false), "");
  EXPECT_TRUE(faultOf(0, true, true, true).starts_with("use-after-free|")) << faultOf(0, true, true, true);
  std::string text = faultOf(64, true);
  EXPECT_NE(text.find("kernel.py:4:1: error: out-of-bounds: write of 4 bytes at byte offset 64 of `buf` on rank 1, "
                      "which has 64 bytes"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("[rank 1, program (0,0,0), kernel `kernel`]"), std::string::npos) << text;
  EXPECT_NE(text.find("allocated at main.py:7"), std::string::npos) << text;
}

TEST(Memory, SmallBuffersLeaveThePlacesOfLargeOnes) {
  World world({.rankCount = 1, .heapBytesPerRank = 1 << 20});
  for (int round = 0; round < 100; ++round) {
    std::vector<Address> buffers;
    for (uint64_t bytes : {8, 8, 100000, 8})
      buffers.push_back(world.allocate(0, bytes, MemoryKind::Local, false, "buffer"));
    for (Address a : buffers) world.release(0, a);
  }
  EXPECT_TRUE(world.reports().empty()) << renderAll(world);
}

TEST(Memory, NullAndWildPointers) {
  for (uint64_t address : {uint64_t(0), uint64_t(1) << 45, ~uint64_t(0) - 2}) {
    World world({.rankCount = 1});
    Launch l;
    l.program = touch(0, false);
    l.arguments = {{address}};
    world.launch(0, 0, l);
    EXPECT_EQ(world.run([&] { return world.idle(0); }), World::Stop::Error);
    EXPECT_TRUE(hasReport(world, "out-of-bounds")) << renderAll(world);
  }
}

TEST(Memory, HostMistakes) {
  World a({.rankCount = 1});
  Address p = a.allocate(0, 16, MemoryKind::Local, true, "p");
  a.release(0, p);
  EXPECT_FALSE(a.failed());
  a.release(0, p);
  EXPECT_TRUE(hasReport(a, "double-free"));
  World b({.rankCount = 1});
  b.release(0, b.allocate(0, 16, MemoryKind::Local, true, "p") + 4);
  EXPECT_TRUE(hasReport(b, "invalid-free"));
  World c({.rankCount = 2});
  c.allocate(0, 16, MemoryKind::Symmetric, true, "p");
  c.allocate(1, 32, MemoryKind::Symmetric, true, "p");
  EXPECT_TRUE(hasReport(c, "asymmetric-allocation"));
  World d({.rankCount = 1, .heapBytesPerRank = 1 << 20});
  EXPECT_EQ(d.allocate(0, 1 << 20, MemoryKind::Local, true, "p"), 0u);
  EXPECT_TRUE(hasReport(d, "out-of-memory"));
}

TEST(Memory, WhatHasNoNameHasANumber) {
  World world({.rankCount = 1});
  world.allocate(0, 16, MemoryKind::Local, true, "");
  world.allocate(0, 16, MemoryKind::Symmetric, true, "x");
  Address p = world.allocate(0, 16, MemoryKind::Symmetric, true, "");
  world.setAsync(0, 0, p, 1, 17);
  EXPECT_EQ(world.run([&] { return world.idle(0); }), World::Stop::Error);
  EXPECT_NE(world.reports()[0].message.find("of `unnamed 2` on rank 0"), std::string::npos) << renderAll(world);
}

TEST(Memory, FreedRangesAreReusedWhenAddressesRunOut) {
  World world({.rankCount = 1, .heapBytesPerRank = 1 << 20});
  for (int k = 0; k < 100; ++k) {
    Address a = world.allocate(0, 100 << 10, MemoryKind::Local, false, "p");
    ASSERT_NE(a, 0u) << renderAll(world);
    world.release(0, a);
  }
  EXPECT_FALSE(world.failed());
}

// Words by which threads synchronised in a buffer that is freed say nothing of the next buffer there.
TEST(Memory, WordsOfAFreedBufferAreForgotten) {
  constexpr uint64_t kBytes = 400 << 10;
  auto run = [](World& world, uint8_t value) {
    Address flag = world.allocate(0, kBytes, MemoryKind::Local, true, "flag");
    world.signalWaitAsync(0, 0, flag, Compare::Eq, 0, 8);
    ASSERT_EQ(world.run([&] { return world.idle(0); }), World::Stop::Done) << renderAll(world);
    world.release(0, flag);
    Address data = world.allocate(0, kBytes, MemoryKind::Local, true, "data");
    ASSERT_EQ(data, flag);
    world.setAsync(0, 0, data, value, 8);
    ASSERT_EQ(world.run([&] { return world.idle(0); }), World::Stop::Done) << renderAll(world);
    world.finish();
  };
  const WorldOptions options{.rankCount = 1, .heapBytesPerRank = 1 << 20, .logStores = true};
  World one(options), same(options), other(options);
  run(one, 1);
  run(same, 1);
  run(other, 2);
  EXPECT_EQ(one.firstDifference(same), "");
  EXPECT_NE(one.firstDifference(other).find("`data` of rank 0 ends with other bytes"), std::string::npos)
      << one.firstDifference(other);
}

TEST(Memory, MaskedTileLoadsAndStores) {
  World world({.rankCount = 1});
  Address in = world.allocate(0, 100 * 4, MemoryKind::Local, false, "in"),
          out = world.allocate(0, 128 * 4, MemoryKind::Local, false, "out");
  for (int k = 0; k < 100; ++k) at<int32_t>(in)[k] = k * 3;
  world.markInitialised(in, 400);
  ProgramBuilder b;
  Register pi = b.pointerArgument("in", Elem::I32), po = b.pointerArgument("out", Elem::I32);
  Register i = b.range(128), mask = b.compare(CompareOp::SLt, i, b.constantTile(Elem::I32, {128}, 100));
  Register v = b.load(b.offset(b.splat(pi, {128}), i, 4), Elem::I32, mask, b.constantTile(Elem::I32, {128}, -1));
  b.store(b.offset(b.splat(po, {128}), i, 4), v);
  ASSERT_EQ(launchAll(world, b.finish(), {1, 1, 1}, {{in, out}}), World::Stop::Done) << renderAll(world);
  for (int k = 0; k < 128; ++k) EXPECT_EQ(at<int32_t>(out)[k], k < 100 ? k * 3 : -1);
}

TEST(Memory, AnUnmaskedTileRunsOffTheEnd) {
  World world({.rankCount = 1});
  Address in = world.allocate(0, 100 * 4, MemoryKind::Local, true, "in");
  ProgramBuilder b;
  Register i = b.range(128);
  b.load(b.offset(b.splat(b.pointerArgument("in", Elem::I32), {128}), i, 4), Elem::I32);
  EXPECT_EQ(launchAll(world, b.finish(), {1, 1, 1}, {{in}}), World::Stop::Error);
  EXPECT_TRUE(hasReport(world, "out-of-bounds")) << renderAll(world);
}

TEST(Memory, BlockLoadPadsAndBlockStoreDrops) {
  World world({.rankCount = 1});
  Address in = world.allocate(0, 6 * 5 * 4, MemoryKind::Local, true, "in"),
          out = world.allocate(0, 6 * 5 * 4, MemoryKind::Local, true, "out");
  Address all = world.allocate(0, 64 * 4, MemoryKind::Local, true, "all");
  for (int k = 0; k < 30; ++k) at<int32_t>(in)[k] = 100 + k;
  ProgramBuilder b;
  Register pi = b.pointerArgument("in", Elem::I32), po = b.pointerArgument("out", Elem::I32),
           pa = b.pointerArgument("all", Elem::I32);
  Register rows = b.constant(Elem::I64, 6), columns = b.constant(Elem::I64, 5), one = b.constant(Elem::I64, 1),
           zero = b.constant(Elem::I32, 0);
  Register two = b.constant(Elem::I32, 2);
  Register t = b.tile(Elem::I32, {8, 8});
  b.add(Op::BlockLoad, Elem::I32, {pi, rows, columns, columns, one, two, zero}, {t}, {2, 0, 3, 0});
  b.add(Op::BlockStore, Elem::I32, {po, t, rows, columns, columns, one, two, zero}, {}, {2, 3, -1, 0});
  Register flat = b.tile(Elem::I32, {64});
  b.add(Op::Reshape, Elem::I32, {t}, {flat});
  b.store(b.offset(b.splat(pa, {64}), b.range(64), 4), flat);
  ASSERT_EQ(launchAll(world, b.finish(), {1, 1, 1}, {{in, out, all}}), World::Stop::Done) << renderAll(world);
  for (int r = 0; r < 8; ++r)
    for (int c = 0; c < 8; ++c) EXPECT_EQ(at<int32_t>(all)[r * 8 + c], r + 2 < 6 && c < 5 ? 100 + (r + 2) * 5 + c : 0);
  for (int r = 0; r < 6; ++r) EXPECT_EQ(at<int32_t>(out)[r * 5], r < 2 ? 0 : 100 + r * 5);
}

TEST(Memory, AnUncheckedBlockDimensionIsAnError) {
  World world({.rankCount = 1});
  Address in = world.allocate(0, 16 * 4, MemoryKind::Local, true, "in");
  ProgramBuilder b;
  Register p = b.pointerArgument("in", Elem::I32), n = b.constant(Elem::I64, 16), one = b.constant(Elem::I64, 1),
           at8 = b.constant(Elem::I32, 8);
  Register t = b.tile(Elem::I32, {16});
  b.add(Op::BlockLoad, Elem::I32, {p, n, one, at8}, {t}, {1, 0, 0, 0});
  EXPECT_EQ(launchAll(world, b.finish(), {1, 1, 1}, {{in}}), World::Stop::Error);
  EXPECT_TRUE(hasReport(world, "out-of-bounds")) << renderAll(world);
}

uint64_t residentBytes() {
  std::ifstream f("/proc/self/statm");
  uint64_t total = 0, resident = 0;
  f >> total >> resident;
  return resident * uint64_t(sysconf(_SC_PAGESIZE));
}

TEST(Memory, OnlyTouchedPagesCost) {
  uint64_t before = residentBytes();
  World world({.rankCount = 64});
  for (int r = 0; r < 64; ++r) world.allocate(r, 8ull << 30, MemoryKind::Symmetric, true, "big");
  EXPECT_FALSE(world.failed());
  EXPECT_LT(residentBytes() - before, 64ull << 20);
}

TEST(Memory, ATeamsMemoryLiesAtOneOffsetOnItsMembers) {
  World world({.rankCount = 4});
  int odd = world.createTeam({3, 1}), low = world.createTeam({0, 1});
  auto offset = [&](int rank, int team, uint64_t bytes) {
    Address at = world.allocate(rank, bytes, MemoryKind::Symmetric, true, "x", "", 0, team);
    EXPECT_EQ(world.teamAt(at), team);
    EXPECT_TRUE(world.isSymmetric(rank, at));
    return at - world.heapBase() - uint64_t(rank) * world.heapStride();
  };
  // Each team's first member comes at another time than the others.
  uint64_t ofLow = offset(1, low, 1000), ofOdd = offset(3, odd, 64), again = offset(3, odd, 64);
  EXPECT_NE(ofOdd, ofLow) << "rank 1 is in both";
  std::vector<uint64_t> ofRun;
  for (int r = 0; r < 4; ++r) ofRun.push_back(offset(r, 0, 128));
  EXPECT_EQ(ofRun, std::vector<uint64_t>(4, ofRun[0]));
  EXPECT_EQ(offset(1, odd, 64), ofOdd);
  EXPECT_EQ(offset(1, odd, 64), again);
  EXPECT_EQ(offset(0, low, 1000), ofLow);
  EXPECT_NE(world.allocate(1, 8, MemoryKind::Symmetric, true, "y", "", 0, low), 0u);
  EXPECT_EQ(world.allocate(0, 9, MemoryKind::Symmetric, true, "y", "", 0, low), 0u);
  EXPECT_TRUE(hasReport(world, "asymmetric-allocation"));
}

}  // namespace
}  // namespace tandem::interpreter::test
