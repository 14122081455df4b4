// When rows are copied into the route's order: where each is multiplied with many columns.
#include "ops/ag_moe/row_order.h"
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

TEST(RowOrder, FewRowsStayWhereTheyAre) { EXPECT_FALSE(isOrdered(14336, 4096, 8, 2, DType::BFloat16, 64)); }

}  // namespace
}  // namespace tandem::ops
