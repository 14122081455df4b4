#include "ops/plan.h"
#include <gtest/gtest.h>

namespace tandem::ops {
namespace {

const GemmPlace kGpu{"sm_90a", 132, true};

GemmConfig chosen(int64_t m, int64_t n, DType dtype = DType::BFloat16, const GemmPlace& place = kGpu) {
  return completed({}, {m, n, 4096, 4, dtype}, place);
}

TEST(GemmPlan, LargeProductsTakeLargeTiles) {
  GemmConfig config = chosen(8192, 4096);
  EXPECT_EQ(config.blockM, 128);
  EXPECT_EQ(config.blockN, 256);
  EXPECT_EQ(config.blockK, 64);
  EXPECT_EQ(config.numWarps, 8);
  EXPECT_EQ(config.programs, 132);
}

TEST(GemmPlan, TilesNarrowWhereTheLastRoundWouldBeEmpty) { EXPECT_EQ(chosen(8192, 1152).blockN, 128); }

TEST(GemmPlan, FewRowsTakeSmallTilesSoThatAllProgramsHaveWork) {
  GemmConfig config = chosen(64, 7168);
  EXPECT_EQ(config.blockM, 64);
  EXPECT_LE(config.blockN, 128);
}

TEST(GemmPlan, InnerBlocksHaveTheSameBytesForEveryType) {
  EXPECT_EQ(chosen(8192, 4096, DType::Float8E4NV).blockK, 128);
  EXPECT_EQ(chosen(8192, 4096, DType::Float16).blockK, 64);
}

TEST(GemmPlan, WhatIsGivenStays) {
  GemmConfig given{.blockN = 32, .programs = 500, .numStages = 2};
  GemmConfig config = completed(given, {8192, 4096, 4096, 4, DType::BFloat16}, kGpu);
  EXPECT_EQ(config.blockN, 32);
  EXPECT_EQ(config.numStages, 2);
  EXPECT_EQ(config.programs, 132) << "no more than are resident";
}

TEST(GemmPlan, SimulatedRanksTakeSmallTiles) {
  GemmConfig config = chosen(8192, 4096, DType::BFloat16, {"sim", 5, true});
  EXPECT_EQ(config.blockM, 64);
  EXPECT_EQ(config.blockK, 32);
  EXPECT_EQ(config.programs, 5);
}

TEST(GemmPlan, EveryChosenTileIsWithinTheBounds) {
  for (const char* target : {"sim", "sm_80", "sm_90a"})
    for (int64_t m : {1, 16, 64, 300, 1024, 8192, 100000})
      for (int64_t n : {1, 64, 896, 1152, 7168, 28672})
        for (bool blocks : {false, true}) {
          GemmConfig config = chosen(m, n, DType::BFloat16, {target, 132, blocks});
          TileBounds bounds = tileBounds({}, target);
          EXPECT_TRUE(bounds.leastM <= config.blockM && config.blockM <= bounds.mostM) << target << " " << m << " " << n;
          EXPECT_TRUE(bounds.leastN <= config.blockN && config.blockN <= bounds.mostN) << target << " " << m << " " << n;
          EXPECT_EQ(bounds.mostM % config.blockM, 0);
          EXPECT_EQ(bounds.mostN % config.blockN, 0);
        }
}

TEST(CopiesOfBlocks, NeedWholeSixteenBytesAndInstructionsForTheType) {
  Tensor even{4096, {8, 64}, DType::BFloat16}, odd{4096, {8, 65}, DType::BFloat16}, shifted{4104, {8, 64}, DType::BFloat16};
  EXPECT_TRUE(copiesBlocks({even}, DType::BFloat16, false, "sm_90a"));
  EXPECT_FALSE(copiesBlocks({even, odd}, DType::BFloat16, false, "sm_90a"));
  EXPECT_FALSE(copiesBlocks({shifted}, DType::BFloat16, false, "sim"));
  EXPECT_FALSE(copiesBlocks({even}, DType::Float32, false, "sm_90a"));
  EXPECT_TRUE(copiesBlocks({even}, DType::Float32, false, "sim"));
  EXPECT_FALSE(copiesBlocks({even}, DType::Float8E5, false, "sm_90a"));
  EXPECT_TRUE(copiesBlocks({even}, DType::Float8E5, true, "sm_90a"));
  EXPECT_FALSE(copiesBlocks({even}, DType::BFloat16, false, "sm_80"));
}

TEST(Chunks, CoverAllBlocksAndNoneIsEmpty) {
  for (int64_t m : {1, 5, 129, 1000, 8192})
    for (int ranks : {1, 2, 4, 8})
      for (int asked : {0, 1, 2, 3, 7, 100}) {
        GemmSizes sizes{m, 4096, 8192, ranks, DType::BFloat16};
        Chunks chunks = chunksOf(sizes, 64, asked);
        int64_t blocks = (shardRows(m, ranks) + 63) / 64;
        EXPECT_GE(chunks.count * chunks.blocks, blocks);
        EXPECT_LT((chunks.count - 1) * chunks.blocks, blocks);
        if (asked) EXPECT_LE(chunks.count, asked);
      }
}

TEST(Chunks, LongTransfersAreCutAndShortOnesAreNot) {
  EXPECT_GE(chunksOf({8192, 1024, 12288, 4, DType::BFloat16}, 128, 0).count, 4);
  EXPECT_EQ(chunksOf({256, 256, 128, 4, DType::BFloat16}, 16, 0).count, 1);
}

TEST(Chunks, TheModelCountsWhatIsNotHidden) {
  double gemm = 400, ranks = 4, bytes = 397e3 * 100;  // 300 us of transfer
  EXPECT_DOUBLE_EQ(gatheredMicroseconds(1, bytes, gemm, int(ranks)), 8 + 300 + 4 + 300);
  EXPECT_LT(gatheredMicroseconds(4, bytes, gemm, int(ranks)), 8 + 300 + 16 + 300 / 4 + 50);
  EXPECT_DOUBLE_EQ(gatheredMicroseconds(3, 0, gemm, int(ranks)), gemm) << "all hidden behind the own rows";
}

}  // namespace
}  // namespace tandem::ops
