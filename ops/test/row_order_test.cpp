// When rows are copied into the route's order, which blocks come first, and how wide tiles are.
#include "ops/ag_moe/row_order.h"
#include "ops/grouped_gemm/product.h"
#include <gtest/gtest.h>

namespace tandem::ops {
namespace {

bool isOrdered(int64_t columns, int64_t k, int64_t experts, int64_t topK, DType dtype = DType::BFloat16,
               int64_t m = 8192) {
  return isQuickerOrdered({m, columns, k, experts, topK, 2, dtype}, m * topK / experts > 48 ? 128 : 16,
                          model::namedMachine("h200"));
}

TEST(RowOrder, FollowsTheColumnsThatARowIsMultipliedWith) {
  EXPECT_TRUE(isOrdered(14336, 4096, 8, 2));
  EXPECT_TRUE(isOrdered(16384, 6144, 8, 2));
  EXPECT_FALSE(isOrdered(1536, 2048, 32, 2));
  EXPECT_FALSE(isOrdered(768, 2048, 128, 8));
  EXPECT_FALSE(isOrdered(2048, 7168, 256, 8));
}

TEST(RowOrder, OfFp8NeedsFewerColumns) {
  EXPECT_TRUE(isOrdered(2048, 7168, 256, 8, DType::Float8E4NV));
  EXPECT_FALSE(isOrdered(768, 2048, 128, 8, DType::Float8E4NV));
}

TEST(RowOrder, EarlyBlocksLastAsLongAsTheShardsOfOthersTake) {
  auto early = [](int64_t columns, int64_t k, int64_t experts, int64_t topK, int64_t m = 8192, int ranks = 2) {
    return earlyBlocks({m, columns, k, experts, topK, ranks, DType::BFloat16}, model::namedMachine("h200"));
  };
  EXPECT_NEAR(double(early(1536, 2048, 32, 2)), 100, 25);
  EXPECT_NEAR(double(early(768, 2048, 128, 8)), 50, 15);
  EXPECT_LT(early(14336, 4096, 8, 2), 16);
  EXPECT_LT(early(768, 2048, 128, 8, 64), 40) << "the experts' matrices take longer than products of few rows";
  EXPECT_EQ(early(64, 2048, 32, 2), 256);
  EXPECT_EQ(early(14336, 4096, 8, 2, 8192, 4), 256) << "shards that come one after another";
}

TEST(RowOrder, TilesAreNarrowWhereWideOnesAreWasted) {
  EXPECT_NEAR(expectedBlocks(2391, 3, 3, 128), 57, 1e-3) << "each expert has all tokens";
  EXPECT_NEAR(expectedBlocks(3874, 3, 72, 128), 144, 1) << "nearly all have 129 to 256";
  EXPECT_NEAR(expectedBlocks(2, 2, 160, 16), 4, .1);
  EXPECT_EQ(expectedBlocks(0, 2, 160, 16), 0);
  EXPECT_DOUBLE_EQ(expectedBlocks(4096, 8, 64, 128, 2), expectedBlocks(4096, 8, 128, 128) / 2) << "half of the experts";
  EXPECT_FALSE(areNarrowQuicker(144, 1536, 132, 1.02));
  EXPECT_TRUE(areNarrowQuicker(573, 768, 132, 1.02)) << "13.02 rounds";
  EXPECT_TRUE(areNarrowQuicker(160, 496, 132, 1.02));
  EXPECT_TRUE(areNarrowQuicker(72, 2048, 132, 1.02));
  EXPECT_FALSE(areNarrowQuicker(72, 2048, 132, 1.15)) << "rows that are no whole halves of lines";
  EXPECT_TRUE(areNarrowQuicker(416, 1408, 132, 1.02)) << "5.5 tiles";
  EXPECT_FALSE(areNarrowQuicker(416, 1408, 132, 1.1)) << "rows are copied for each tile";
  EXPECT_TRUE(areNarrowQuicker(416, 128, 132, 1.1));
}

TEST(RowOrder, FewRowsStayWhereTheyAre) { EXPECT_FALSE(isOrdered(14336, 4096, 8, 2, DType::BFloat16, 64)); }

}  // namespace
}  // namespace tandem::ops
