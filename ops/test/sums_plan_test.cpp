// The plan of grouped GEMM + ReduceScatter: by layers of models, and by what the caller asks for.
#include "ops/moe_rs/plan.h"
#include <gtest/gtest.h>

namespace tandem::ops {
namespace {

constexpr int kResident = 132;
const model::Machine& h200() { return model::namedMachine("h200"); }

SumsSizes sizes(int64_t m, int64_t n, int64_t k, int64_t experts, int64_t topK, int ranks = 2) {
  int64_t rows = m * topK / experts > 48 ? 128 : 16;
  return {m, n, k, experts, topK, ranks, DType::BFloat16, DType::BFloat16, rows, rows == 128 ? 256 : 128};
}

SumsPlan planned(const SumsSizes& s, int64_t parts = 0, int beside = -1) {
  return planOfSums(s, parts, beside, kResident, h200());
}

TEST(SumsPlan, ManyTokensTravelBesideTheProduct) {
  for (const SumsSizes& s : {sizes(8192, 2048, 768, 8, 2), sizes(8192, 2048, 384, 128, 8),
                             sizes(8192, 4096, 7168, 8, 2), sizes(8192, 7168, 1024, 256, 8)}) {
    SumsPlan plan = planned(s);
    EXPECT_GT(plan.parts, 1);
    EXPECT_GE(plan.beside, 1);
    EXPECT_LE(plan.beside, kResident / 4);
    EXPECT_LT(predictedSums(s, plan, kResident, h200()), predictedSums(s, {}, kResident, h200()));
  }
}

TEST(SumsPlan, LongProductsLeaveFewMultiprocessors) {
  EXPECT_LT(planned(sizes(8192, 4096, 7168, 8, 2)).beside, planned(sizes(8192, 4096, 1024, 8, 2)).beside);
}

TEST(SumsPlan, FewTokensAndOneRankSumBehind) {
  for (const SumsSizes& s : {sizes(16, 2048, 384, 128, 8), sizes(8192, 2048, 768, 8, 2, 1)})
    EXPECT_EQ(planned(s).beside, 0);
}

TEST(SumsPlan, TheCallersChoiceStands) {
  SumsSizes s = sizes(8192, 2048, 768, 8, 2);
  EXPECT_EQ(planned(s, 3).parts, 3);
  EXPECT_EQ(planned(s, 0, 7).beside, 7);
  EXPECT_EQ(planned(s, 3, 7).parts, 3);
  EXPECT_EQ(planned(s, 3, 7).beside, 7);
  EXPECT_EQ(planned(s, 0, 0).beside, 0);
  EXPECT_EQ(planned(s, 1, 7).beside, 0);  // nothing is whole before the product's end
  EXPECT_EQ(planned(s, 3, kResident).beside, 0);
  EXPECT_EQ(planned(s, 100).parts, 8);  // no more parts than tiles
}

}  // namespace
}  // namespace tandem::ops
