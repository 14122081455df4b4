#include "ops/attention/forms.h"
#include <gtest/gtest.h>

namespace tandem::ops {
namespace {

constexpr int64_t kMultiprocessors = 132;
constexpr AttentionForm kForm = {{128, 128, 8, 2}, 1, 1, 1, 190};

AttentionGrid gridOf(int64_t blocks, int64_t heads, int64_t batch, int64_t along, bool causal = false,
                     int64_t keyBytes = 1, const AttentionForm& form = kForm) {
  AttentionConfig config;
  config.causal = causal;
  return attentionGrid(config, form, kMultiprocessors, {blocks, heads, batch, along, along, keyBytes});
}

// The form that ends first, of those of bf16. `dv`: elements of values, else d.
AttentionTile chosenTile(int64_t d, int64_t rows, int64_t heads, int64_t kvHeads, int64_t batch, bool causal,
                         int64_t dv = 0) {
  if (!dv) dv = d;
  std::vector<AttentionForm> forms = attentionForms("sm_90a", headsOf(d, dv, DType::BFloat16), DType::BFloat16);
  auto time = [&](const AttentionForm& form) {
    int64_t blocks = (rows + form.tile.m - 1) / form.tile.m;
    return gridOf(blocks, heads, batch, rows, causal, batch * rows * kvHeads * (d + dv) * 2, form).time;
  };
  AttentionForm best = forms.front();
  for (const AttentionForm& form : forms)
    if (time(form) < time(best)) best = form;
  return best.tile;
}

using Grid = std::array<int, 3>;

TEST(AttentionForms, ShortRowsOfWideKeysHaveSmallBlocks) {
  for (bool causal : {false, true}) {
    EXPECT_EQ(chosenTile(192, 256, 16, 16, 16, causal, 128).n, 64);
    EXPECT_EQ(chosenTile(192, 277, 16, 16, 46, causal, 128).n, 64);
    EXPECT_EQ(chosenTile(192, 900, 16, 4, 8, causal, 128).n, 128);
    EXPECT_EQ(chosenTile(192, 4096, 16, 16, 2, causal, 128).n, 128);
  }
}

TEST(AttentionGrid, ProgramsShareBlocks) {
  AttentionGrid grid = gridOf(8, 16, 16, 1024);
  EXPECT_EQ(grid.shared, 1);
  EXPECT_EQ(grid.programs, (Grid{128, 1, 1}));  // 2048 blocks, 16 of each
}

TEST(AttentionGrid, CausalBlocksOfHeadsWhoseKeysStayInL2GoTogether) {
  AttentionGrid grid = gridOf(10, 8, 11, 1206, true, 1 << 20);
  EXPECT_EQ(grid.shared, kAllLanes);
  EXPECT_EQ(grid.programs, (Grid{132, 1, 1}));
  EXPECT_NE(gridOf(10, 8, 11, 1206, true, 60 << 20).shared, kAllLanes);
}

TEST(AttentionGrid, CausalBlocksComeInPairsThatGoUp) {
  AttentionGrid grid = gridOf(8, 11, 9, 1024, true);  // 396 pairs, three of each
  EXPECT_EQ(grid.shared, 2);
  EXPECT_EQ(grid.programs, (Grid{132, 1, 1}));
}

AttentionGrid divisible(int64_t blocks, int64_t heads, int64_t batch, int64_t along, bool causal = false,
                        int64_t keyBytes = 1) {
  AttentionConfig config;
  config.causal = causal;
  AttentionForm form = kForm;
  form.join = 5e4;
  return attentionGrid(config, form, kMultiprocessors, {blocks, heads, batch, along, along, keyBytes, true});
}

TEST(AttentionGrid, FewOrUnevenBlocksAreRunsOfKeys) {
  EXPECT_EQ(divisible(99, 1, 1, 12672).shared, kRuns);
  EXPECT_EQ(divisible(29, 28, 1, 3712).shared, kRuns);  // 6.2 turns
  EXPECT_EQ(divisible(70, 1, 1, 8960, true).shared, kRuns);
  EXPECT_EQ(divisible(99, 1, 1, 12672).programs, (Grid{132, 1, 1}));
  EXPECT_LT(divisible(99, 1, 1, 12672).time, gridOf(99, 1, 1, 12672).time);
}

TEST(AttentionGrid, EvenBlocksStayWhole) {
  EXPECT_EQ(divisible(8, 16, 16, 1024).shared, 1);
  EXPECT_EQ(divisible(5, 16, 1, 625).shared, 0);  // parts would take longer to put together
  EXPECT_EQ(divisible(32, 32, 1, 4096, true).shared, kAllLanes);
  EXPECT_NE(divisible(30, 16, 4, 3840, true, 60 << 20).shared,
            kRuns);  // programs at other heads would push their keys out of L2
}

TEST(AttentionGrid, WindowsHaveEqualBlocks) {
  AttentionConfig config;
  config.causal = true;
  config.window = 100;
  AttentionGrid grid = attentionGrid(config, kForm, kMultiprocessors, {10, 8, 11, 1206, 1206, 1});
  EXPECT_EQ(grid.shared, 1);
  EXPECT_LT(grid.time, gridOf(10, 8, 11, 1206, true).time / 2);
}

TEST(AttentionGrid, FewBlocksHaveAProgramEach) {
  AttentionGrid grid = gridOf(8, 16, 1, 1024);
  EXPECT_EQ(grid.shared, 0);
  EXPECT_EQ(grid.programs, (Grid{8, 16, 1}));
  EXPECT_EQ(gridOf(8, 16, 16, 1024, false, 1, {{64, 64, 4, 2}, 0, 1, 1, 0}).shared, 0);  // however many fit
}

TEST(AttentionGrid, SequencesOfAnyLengthsHaveAProgramForEachBlock) {
  AttentionConfig config;
  config.varlen = true;
  EXPECT_EQ(attentionGrid(config, kForm, kMultiprocessors, {8, 16, 16, 1024, 1024, 1}).shared, 0);
}

TEST(AttentionForms, TheOneThatEndsFirstIsTaken) {
  EXPECT_EQ(chosenTile(128, 4096, 16, 16, 4, true).m, 128);
  EXPECT_EQ(chosenTile(128, 484, 32, 4, 9, true).m, 64);   // ends of short blocks are hidden behind another program
  EXPECT_EQ(chosenTile(128, 2048, 4, 4, 1, false).m, 64);  // 64 blocks for 132 multiprocessors
  EXPECT_EQ(chosenTile(192, 666, 8, 2, 6, true).m, 128);
  EXPECT_EQ(chosenTile(192, 310, 12, 3, 20, true).m, 64);
  EXPECT_EQ(chosenTile(64, 16384, 32, 32, 1, false).m, 256);
  EXPECT_EQ(chosenTile(64, 1024, 32, 32, 16, true).m, 64);
  EXPECT_LT(chosenTile(64, 10880, 4, 2, 1, true).m, 256);  // the longest block of 256 is more than a fair share of all
}

}  // namespace
}  // namespace tandem::ops
