#include "ops/a2a_o_gemm/model.h"
#include "ops/ag_gemm/model.h"
#include "ops/gemm_ar/model.h"
#include "ops/gemm_rs/model.h"
#include "ops/qkv_gemm_a2a/model.h"
#include <gtest/gtest.h>

namespace tandem::ops {
namespace {

using model::Machine;

constexpr int kPrograms = 132;
const Machine& kH200 = model::namedMachine("h200");

GemmChoice choice(int m, int n, std::vector<std::vector<int>> copies = {}) {
  GemmChoice out;
  out.config = {.blockM = m, .blockN = n, .blockK = 64, .programs = kPrograms, .group = 8};
  out.slices = {8, 1536, 1, 1 << 20, std::move(copies)};
  return out;
}

double allGather(const GemmSizes& sizes, const GemmChoice& choice, const Machine& machine = kH200) {
  return predicted(gatherModel(), sizes, choice, 1, kPrograms, machine);
}

// Times measured with bench/gpu/overlap on H200s.
TEST(Prediction, IsWithinATenthOfWhatWasMeasured) {
  GemmSizes link{8192, 1024, 12288, 4, DType::BFloat16}, two{8192, 1024, 12288, 2, DType::BFloat16};
  EXPECT_NEAR(allGather(link, choice(128, 256, {{8}, {8}, {4, 2, 1, 1}})), 490, 49);
  EXPECT_NEAR(allGather(two, choice(128, 256, {{1, 1, 2, 4}})), 388, 39);
  EXPECT_NEAR(predicted(scatterModel(), {8192, 8192, 2048, 4, DType::BFloat16}, choice(128, 256), 1, kPrograms, kH200),
              486, 49);
}

// On two H200s, as above.
TEST(Prediction, OfFewRowsIsWithinAFifthOfWhatWasMeasured) {
  auto first = [](const GemmModel& model, int64_t m, int64_t n, int64_t k) {
    return choices(model, {}, {m, n, k, 2, DType::BFloat16}, {"sm_90a", kPrograms, true}, kH200).front().microseconds;
  };
  EXPECT_NEAR(first(gatherModel(), 14, 8192, 6144), 40.6, 8);
  EXPECT_NEAR(first(scatterModel(), 100, 12288, 3584), 41.2, 8);
  EXPECT_NEAR(first(reduceModel(), 660, 2304, 4608), 42.4, 8);
}

TEST(Prediction, LastDataInSmallPiecesEndsSoonerWhereTheLinkTakesLongest) {
  GemmSizes sizes{8192, 1024, 12288, 2, DType::BFloat16};
  EXPECT_LT(allGather(sizes, choice(128, 256, {{4, 2, 1, 1}})),
            allGather(sizes, choice(128, 256, {{1, 1, 2, 4}})) - 20);
}

TEST(Prediction, PiecesFillARoundAndTakeTimeToAddUp) {
  GemmSizes sizes{8192, 1152, 36864, 1, DType::BFloat16};
  GemmChoice whole = choice(128, 256), cut = whole;
  whole.config.pieces = 1;
  cut.config.pieces = 2;
  EXPECT_LT(allGather(sizes, cut), allGather(sizes, whole) - 100) << "2.42 rounds";
  sizes.n = 2048;
  EXPECT_GT(allGather(sizes, cut), allGather(sizes, whole)) << "3.88 rounds";
}

TEST(Prediction, AQuickLinkLeavesTheProduct) {
  GemmSizes sizes{8192, 1024, 12288, 4, DType::BFloat16}, alone = sizes;
  alone.ranks = 1;
  Machine quick = kH200;
  quick.copyGbps *= 1e6;
  quick.copyUs = 1e-3;
  double product = allGather(alone, choice(128, 256));
  EXPECT_NEAR(allGather(sizes, choice(128, 256, {{8}, {8}, {8}}), quick), product, 15);
  EXPECT_GT(allGather(sizes, choice(128, 256, {{8}, {8}, {8}})), product + 100);
}

TEST(Prediction, ASlowLinkIsWhatReduceScatterTakes) {
  GemmSizes sizes{8192, 8192, 64, 4, DType::BFloat16};
  Machine slow = kH200;
  slow.storeGbps = {{1, 1}};
  double bytes = 3.0 / 4 * 8192 * 8192 * 2;
  EXPECT_GT(predicted(scatterModel(), sizes, choice(128, 256), 1, kPrograms, slow), bytes / 1e3);
}

GemmChoice copied(int chunks) {
  GemmChoice out = choice(128, 256);
  out.config.chunks = chunks;
  return out;
}

TEST(Prediction, CopiesOfPartsHideBehindTheProductUnlessTheyAreTooManyOrTheLastIsTooLarge) {
  GemmSizes sizes{24576, 4096, 3072, 4, DType::BFloat16}, alone = sizes;
  alone.ranks = 1;
  auto takes = [&](int chunks, const Machine& machine = kH200) {
    return predicted(scatterModel(), sizes, copied(chunks), 1, kPrograms, machine);
  };
  double product = predicted(scatterModel(), alone, choice(128, 256), 1, kPrograms, kH200);
  EXPECT_LT(takes(3), product + 40);
  EXPECT_GT(takes(1), takes(3) + 10) << "own tiles wait for whole shards";
  EXPECT_GT(takes(32), takes(3) + 100) << "96 copies one after the other";
  Machine slow = kH200;
  slow.copyGbps = 1;
  EXPECT_GT(takes(3, slow), 3.0 / 4 * 24576 * 4096 * 2 / 1e3);
}

// The sizes of headsModel have the columns of one rank.
TEST(Prediction, HeadsAndRowsChangeRanksBehindTheProductUnlessTheLinkTakesLonger) {
  auto first = [](const GemmModel& model, const GemmSizes& sizes, const Machine& machine = kH200) {
    return choices(model, {}, sizes, {"sm_90a", kPrograms, true}, machine).front().microseconds;
  };
  constexpr DType kType = DType::BFloat16;
  double product = first(headsModel(), {8192, 6144, 4096, 1, kType});
  EXPECT_NEAR(product, 2.0 * 8192 * 6144 * 4096 / kH200.operations(2), .1 * product);
  EXPECT_NEAR(first(headsModel(), {16384, 3072, 4096, 2, kType}), product, .05 * product);
  double behind = first(rowsOfHeadsModel(), {8192, 4096, 4096, 1, kType});
  EXPECT_NEAR(first(rowsOfHeadsModel(), {16384, 4096, 4096, 2, kType}), behind, .08 * behind);
  Machine slow = kH200;
  slow.copyGbps = 40;
  EXPECT_GT(first(headsModel(), {16384, 3072, 4096, 2, kType}, slow), 8192.0 * 3072 * 2 / slow.copyBytes());
  EXPECT_GT(first(rowsOfHeadsModel(), {16384, 4096, 4096, 2, kType}, slow), 8192.0 * 2048 * 2 / slow.copyBytes());
}

TEST(Prediction, RanksWithoutRowsAreNotWaitedFor) {
  GemmSizes sizes{1, 64, 12288, 8, DType::BFloat16};
  EXPECT_LT(allGather(sizes, choice(64, 64, std::vector<std::vector<int>>(7, {8}))), 500);
}

}  // namespace
}  // namespace tandem::ops
