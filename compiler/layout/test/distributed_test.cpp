// Named layouts against their definitions in the PTX ISA and in Triton.
#include "compiler/layout/distributed.h"
#include "simulate.h"

namespace tandem::layout {
namespace {

// The tile of a blocked layout, element by element: which thread's which element a coordinate belongs to.
TEST(Blocked, MatchesTheDefinition) {
  Random random(7);
  for (int trial = 0; trial < 200; ++trial) {
    auto power = [&](int most) { return int64_t(1) << random() % (most + 1); };
    int64_t shape[] = {power(6), power(6)}, spt[] = {power(2), power(2)}, laneRows = power(5),
            wpc[] = {power(1), power(1)};
    int64_t tpw[] = {laneRows, 32 / laneRows};
    bool rowMajor = random() % 2;
    llvm::SmallVector<unsigned> order =
        rowMajor ? llvm::SmallVector<unsigned>{1, 0} : llvm::SmallVector<unsigned>{0, 1};
    LinearLayout layout = blocked(shape, spt, tpw, wpc, order);
    EXPECT_TRUE(layout.isSurjective());
    EXPECT_EQ(layout.numLanes(), 32);
    EXPECT_EQ(layout.numWarps(), wpc[0] * wpc[1]);
    EXPECT_EQ(layout.freeMask(Dim::Register), 0u);
    unsigned fast = order[0], slow = order[1];
    for (int64_t l = 0; l < 32; ++l)
      for (int64_t w = 0; w < layout.numWarps(); ++w) {
        // Register 0 is at the thread's corner of the tile; a tensor smaller than the tile wraps.
        int64_t lane[2], warp[2];
        lane[fast] = l % tpw[fast], lane[slow] = l / tpw[fast];
        warp[fast] = w % wpc[fast], warp[slow] = w / wpc[fast];
        llvm::SmallVector<int64_t> at = layout.coordinates(layout.apply(0, l, w));
        for (unsigned axis : {0u, 1u}) {
          int64_t corner = (warp[axis] * tpw[axis] + lane[axis]) * spt[axis];
          EXPECT_EQ(at[axis], corner % shape[axis]);
        }
      }
    // Neighbours along the fastest dimension are neighbouring registers.
    for (int64_t r = 0; r < std::min(spt[fast], shape[fast]); ++r)
      EXPECT_EQ(layout.coordinates(layout.apply(r, 0, 0))[fast], r);
  }
}

TEST(Blocked, Text) {
  EXPECT_EQ(blocked({16, 64}, {1, 4}, {2, 16}, {4, 1}, {1, 0}).str(),
            "[16,64] register=[[0,1],[0,2],[8,0]] lane=[[0,4],[0,8],[0,16],[0,32],[1,0]] warp=[[2,0],[4,0]]");
  EXPECT_EQ(
      blocked({16, 64}, {1, 4}, {2, 16}, {2, 1}, {1, 0}, {2, 2}).str(),
      "[16,64] register=[[0,1],[0,2],[4,0]] lane=[[0,4],[0,8],[0,16],[0,0],[1,0]] warp=[[2,0]] block=[[0,32],[8,0]]");
}

TEST(DefaultBlocked, FillsThreadsBeforeVectors) {
  EXPECT_EQ(defaultBlocked({128, 128}, 16, {32, 4}).bases(Dim::Register).take_front(3),
            llvm::ArrayRef<uint64_t>({1, 2, 4}));
  EXPECT_EQ(defaultBlocked({128}, 32, {32, 4}).numRegisters(), 1);
  EXPECT_EQ(defaultBlocked({16}, 32, {32, 4}).str(), "[16] lane=[[1],[2],[4],[8],[0]] warp=[[0],[0]]");
  EXPECT_EQ(defaultBlocked({}, 32, {32, 4}).numLanes(), 32);
  EXPECT_EQ(defaultBlocked({256, 2}, 32, {32, 1}).bases(Dim::Register)[0], 1u);
  EXPECT_EQ(defaultBlocked({64, 64}, 32, {32, 4}, {0u, 1u}).bases(Dim::Register)[0], 64u);
  for (unsigned bits : {8u, 16u, 32u, 64u, 128u}) EXPECT_TRUE(defaultBlocked({32, 64}, bits, {32, 8}).isInjective());
}

// Fragments as PTX ISA draws them: groupID = lane / 4, threadInGroup = lane % 4, element i of a thread.
TEST(MmaV2, ResultFragment) {
  LinearLayout layout = mmaV2Result({16, 8}, {1, 1});
  for (int64_t lane = 0; lane < 32; ++lane)
    for (int64_t i = 0; i < 4; ++i)
      EXPECT_EQ(layout.coordinates(layout.apply(i, lane, 0)),
                (llvm::SmallVector<int64_t>{lane / 4 + (i >= 2 ? 8 : 0), lane % 4 * 2 + i % 2}));
}

TEST(MmaV2, OperandFragments16) {
  LinearLayout a = dotOperandA({16, 16}, 16, {1, 1}), b = dotOperandB({16, 8}, 16, {1, 1});
  for (int64_t lane = 0; lane < 32; ++lane) {
    for (int64_t i = 0; i < 8; ++i) {
      int64_t row = (i < 2 || (i >= 4 && i < 6)) ? lane / 4 : lane / 4 + 8;
      EXPECT_EQ(a.coordinates(a.apply(i, lane, 0)),
                (llvm::SmallVector<int64_t>{row, lane % 4 * 2 + i % 2 + (i >= 4 ? 8 : 0)}));
    }
    for (int64_t i = 0; i < 4; ++i)
      EXPECT_EQ(b.coordinates(b.apply(i, lane, 0)),
                (llvm::SmallVector<int64_t>{lane % 4 * 2 + i % 2 + (i >= 2 ? 8 : 0), lane / 4}));
  }
}

TEST(MmaV2, OperandFragments8) {
  LinearLayout a = dotOperandA({16, 32}, 8, {1, 1}), b = dotOperandB({32, 8}, 8, {1, 1});
  for (int64_t lane = 0; lane < 32; ++lane) {
    for (int64_t i = 0; i < 16; ++i) {
      int64_t row = (i < 4 || (i >= 8 && i < 12)) ? lane / 4 : lane / 4 + 8;
      EXPECT_EQ(a.coordinates(a.apply(i, lane, 0)),
                (llvm::SmallVector<int64_t>{row, lane % 4 * 4 + i % 4 + (i >= 8 ? 16 : 0)}));
    }
    for (int64_t i = 0; i < 8; ++i)
      EXPECT_EQ(b.coordinates(b.apply(i, lane, 0)),
                (llvm::SmallVector<int64_t>{lane % 4 * 4 + i % 4 + (i >= 4 ? 16 : 0), lane / 4}));
  }
}

TEST(MmaV2, OperandFragmentsTf32) {
  LinearLayout a = dotOperandA({16, 8}, 32, {1, 1}), b = dotOperandB({8, 8}, 32, {1, 1});
  for (int64_t lane = 0; lane < 32; ++lane) {
    for (int64_t i = 0; i < 4; ++i)
      EXPECT_EQ(a.coordinates(a.apply(i, lane, 0)),
                (llvm::SmallVector<int64_t>{lane / 4 + i % 2 * 8, lane % 4 + i / 2 * 4}));
    for (int64_t i = 0; i < 2; ++i)
      EXPECT_EQ(b.coordinates(b.apply(i, lane, 0)), (llvm::SmallVector<int64_t>{lane % 4 + i * 4, lane / 4}));
  }
}

// A warp has the rows of A and the columns of B of its part of the result.
TEST(MmaV2, WarpsAgree) {
  WarpGrid warps{2, 4};
  LinearLayout a = dotOperandA({64, 32}, 16, warps), b = dotOperandB({32, 128}, 16, warps),
               c = mmaV2Result({64, 128}, warps);
  for (int64_t w = 0; w < 8; ++w) {
    std::set<int64_t> rowsOfA, columnsOfB, rowsOfC, columnsOfC;
    for (int64_t l = 0; l < 32; ++l) {
      for (int64_t r = 0; r < a.numRegisters(); ++r) rowsOfA.insert(a.coordinates(a.apply(r, l, w))[0]);
      for (int64_t r = 0; r < b.numRegisters(); ++r) columnsOfB.insert(b.coordinates(b.apply(r, l, w))[1]);
      for (int64_t r = 0; r < c.numRegisters(); ++r) {
        rowsOfC.insert(c.coordinates(c.apply(r, l, w))[0]);
        columnsOfC.insert(c.coordinates(c.apply(r, l, w))[1]);
      }
    }
    EXPECT_EQ(rowsOfA, rowsOfC);
    EXPECT_EQ(columnsOfB, columnsOfC);
  }
  EXPECT_TRUE(c.isInjective() && c.isSurjective());
  EXPECT_TRUE(mmaV2Result({4, 64, 64}, {2, 2}).isInjective());
}

// Warps of a batch have matrices of their own.
TEST(MmaV2, WarpsDivideBatches) {
  WarpGrid warps{1, 2, 8};
  LinearLayout a = dotOperandA({2, 4, 16, 16}, 16, warps), b = dotOperandB({2, 4, 16, 32}, 16, warps),
               c = mmaV2Result({2, 4, 16, 32}, warps);
  EXPECT_TRUE(c.isInjective() && c.isSurjective());
  EXPECT_EQ(a.freeMask(Dim::Warp), 1u);
  EXPECT_EQ(b.freeMask(Dim::Warp), 0u);
  for (int64_t w = 0; w < 16; ++w)
    for (const LinearLayout* layout : {&a, &b, &c}) {
      llvm::SmallVector<int64_t> at = layout->coordinates(layout->apply(0, 0, w));
      EXPECT_EQ(at[1], w / 2 % 4);
      EXPECT_EQ(at[0], w / 8);
    }
  EXPECT_EQ(mmaV2Result({2, 16, 8}, {1, 1, 4}).freeMask(Dim::Warp), 2u);
}

// PTX ISA, wgmma accumulator: row = 16 * warp + groupID (+ 8), column = 8 * (i / 4) + threadInGroup * 2 + i % 2.
TEST(Wgmma, ResultFragment) {
  LinearLayout layout = wgmmaResult({128, 128}, {8, 1}, 64);
  for (int64_t warp = 0; warp < 8; ++warp)
    for (int64_t lane = 0; lane < 32; ++lane)
      for (int64_t i = 0; i < 64; ++i)
        EXPECT_EQ(
            layout.coordinates(layout.apply(i, lane, warp)),
            (llvm::SmallVector<int64_t>{16 * warp + lane / 4 + (i / 2 % 2) * 8, 8 * (i / 4) + lane % 4 * 2 + i % 2}));
  EXPECT_TRUE(wgmmaResult({256, 128}, {4, 2}, 32).isInjective());
}

TEST(Wgmma, OperandAFragment) {
  LinearLayout layout = wgmmaOperandA({64, 16}, 16, {4, 2});
  for (int64_t warp = 0; warp < 8; ++warp)
    for (int64_t lane = 0; lane < 32; ++lane)
      for (int64_t i = 0; i < 8; ++i)
        EXPECT_EQ(layout.coordinates(layout.apply(i, lane, warp)),
                  (llvm::SmallVector<int64_t>{16 * (warp % 4) + lane / 4 + (i / 2 % 2) * 8,
                                              lane % 4 * 2 + i % 2 + i / 4 * 8}));
  EXPECT_EQ(layout.freeMask(Dim::Warp), 4u);
}

}  // namespace
}  // namespace tandem::layout
