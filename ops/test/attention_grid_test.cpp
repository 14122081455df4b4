#include "ops/attention/shape.h"
#include <gtest/gtest.h>

namespace tandem::ops {
namespace {

constexpr int64_t kAlone = 132;

AttentionGrid gridOf(int64_t blocks, int64_t heads, int64_t batch, int64_t along, bool causal = false,
                     int64_t alone = kAlone) {
  AttentionConfig config;
  config.causal = causal;
  return attentionGrid(config, alone, blocks, heads, batch, along);
}

using Grid = std::array<int, 3>;

TEST(AttentionGrid, ProgramsShareBlocks) {
  AttentionGrid grid = gridOf(8, 16, 16, 1024);
  EXPECT_EQ(grid.shared, 1);
  EXPECT_EQ(grid.programs, (Grid{128, 1, 1}));  // 2048 blocks, 16 of each
}

TEST(AttentionGrid, CausalBlocksComeInPairs) {
  AttentionGrid grid = gridOf(8, 16, 16, 1024, true);
  EXPECT_EQ(grid.shared, 2);
  EXPECT_EQ(grid.programs, (Grid{128, 1, 1}));
  EXPECT_EQ(gridOf(7, 15, 16, 896, true).programs, (Grid{120, 1, 1}));  // 840 pairs, 7 of each
}

TEST(AttentionGrid, BlocksOfAllHeadsGoTogetherWhereTheirKeysStayInL2) {
  AttentionConfig config;
  config.causal = true;
  auto grid = [&](int64_t keyBytes) { return attentionGrid(config, kAlone, 10, 8, 11, 1206, keyBytes); };
  EXPECT_EQ(grid(1 << 20).shared, kAllLanes);
  EXPECT_EQ(grid(1 << 20).programs, (Grid{132, 1, 1}));
  EXPECT_NE(grid(1 << 30).shared, kAllLanes);
  config.window = 100;  // blocks have equal work
  EXPECT_NE(grid(1 << 20).shared, kAllLanes);
}

TEST(AttentionGrid, FewBlocksHaveAProgramEach) {
  AttentionGrid grid = gridOf(8, 16, 1, 1024);
  EXPECT_EQ(grid.shared, 0);
  EXPECT_EQ(grid.programs, (Grid{8, 16, 1}));
  EXPECT_EQ(gridOf(8, 16, 16, 1024, false, 0).shared, 0);  // several on a multiprocessor
}

TEST(AttentionGrid, LongBlocksThatWouldLeaveSomeWithoutWorkHaveAProgramEach) {
  EXPECT_EQ(gridOf(134, 2, 1, 134 * 128, true).shared, 0);  // 134 pairs would take as long as 264
  EXPECT_EQ(gridOf(128, 16, 1, 128 * 128, false).shared, 1);
}

// The longest block of four heads is more than a fair share of all: with half the rows a block is not.
TEST(AttentionGrid, TimesTellWhichTileEndsFirst) {
  AttentionTile whole = attentionTile("sm_90a", 64, 10880, true, DType::BFloat16), half = halfOf(whole);
  EXPECT_EQ(whole.m, 2 * half.m);
  auto time = [&](const AttentionTile& tile, int64_t heads) {
    return gridOf((10880 + tile.m - 1) / tile.m, heads, 1, 10880, true).time * tile.m;
  };
  EXPECT_LT(time(half, 4) / kHalfSpeed, time(whole, 4) * 0.8);
  EXPECT_GT(time(half, 64) / kHalfSpeed, time(whole, 64));
  EXPECT_EQ(gridOf(8, 16, 16, 1024, false, 0).time, 0);
}

TEST(AttentionGrid, SequencesOfAnyLengthsHaveAProgramForEachBlock) {
  AttentionConfig config;
  config.varlen = true;
  EXPECT_EQ(attentionGrid(config, kAlone, 8, 16, 16, 1024).shared, 0);
}

}  // namespace
}  // namespace tandem::ops
