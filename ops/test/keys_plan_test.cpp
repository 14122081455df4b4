#include "ops/attention_backward/keys_plan.h"
#include <gtest/gtest.h>

namespace tandem::ops {
namespace {

constexpr AttentionTile kTile = {64, 128, 8, 2};
constexpr KeysKernel kAll = {true, true, true};
constexpr int64_t kMultiprocessors = 132;

KeysPlan planOf(int64_t hq, int64_t hkv, int64_t sequences, int64_t rows, bool causal = true,
                int64_t most = kMostSharing) {
  AttentionConfig config;
  config.causal = causal;
  GradientSizes sizes = {hq, hkv, 128, 128, sequences, double(rows), double(rows), kMultiprocessors};
  return planKeys(config, sizes, kAll, kTile, most);
}

TEST(KeysPlan, ManyBlocksAreNotShared) {
  EXPECT_EQ(planOf(16, 16, 4, 4096).parts, 1);
  EXPECT_EQ(planOf(16, 16, 4, 4096, false).parts, 1);
}

TEST(KeysPlan, ProgramsShareTheHeadsOfFewBlocks) {
  KeysPlan plan = planOf(32, 4, 1, 1767);  // 56 blocks, of which the longest has an eighth of all work
  EXPECT_GT(plan.parts, 1);
  EXPECT_EQ(plan.pieces, 1);
  EXPECT_EQ(8 % plan.parts, 0);
}

TEST(KeysPlan, ProgramsShareTheQueriesOfAHead) {
  KeysPlan plan = planOf(1, 1, 1, 4096);
  EXPECT_GT(plan.parts, 2);
  EXPECT_EQ(plan.pieces, plan.parts);
  plan = planOf(2, 1, 1, 2048);
  EXPECT_EQ(plan.parts, 2 * plan.pieces);
}

TEST(KeysPlan, PartsHaveRoom) {
  EXPECT_EQ(planOf(1, 1, 1, 4096, true, 0).parts, 1);
  EXPECT_EQ(planOf(1, 1, 1, 4096, true, 2).parts, 2);
}

TEST(KeysPlan, GridsAreNotTooLong) {
  KeysPlan plan = planOf(16, 16, 10000, 100, false);
  EXPECT_EQ(160000 % plan.together, 0);
  EXPECT_LE(160000 / plan.together, 65535);
}

TEST(KeysPlan, CausalProgramsOfHeadsBeginTogether) {
  EXPECT_EQ(planOf(16, 16, 2, 1024).together, 16);  // the most that divides 32 of those whose rows stay in L2
  EXPECT_EQ(planOf(16, 16, 2, 1024, false).together, 1);
}

}  // namespace
}  // namespace tandem::ops
