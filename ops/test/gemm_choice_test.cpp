#include "ops/ag_gemm/model.h"
#include "ops/gemm_ar/gemm_ar.h"
#include "ops/gemm_ar/model.h"
#include "ops/gemm_rs/model.h"
#include "ops/gemm_tiles.h"
#include "ops/product/library_time.h"
#include "ops/table.h"
#include <gtest/gtest.h>
#include <algorithm>
#include <numeric>

namespace tandem::ops {
namespace {

const GemmPlace kGpu{"sm_90a", 132, true};
const model::Machine& kH200 = model::namedMachine("h200");

GemmConfig chosen(int64_t m, int64_t n, DType dtype = DType::BFloat16, const GemmPlace& place = kGpu) {
  GemmConfig given{.fewRows = 0};
  return choices(scatterModel(), given, {m, n, 4096, 4, dtype}, place, kH200).front().config;
}

Slices sliced(const GemmSizes& sizes, GemmConfig given = {}, const GemmPlace& place = kGpu) {
  given.fewRows = 0;
  return choices(gatherModel(), given, sizes, place, kH200).front().slices;
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
  GemmConfig config = choices(gatherModel(), given, {8192, 4096, 4096, 4, DType::BFloat16}, kGpu, kH200).front().config;
  EXPECT_EQ(config.blockN, 32);
  EXPECT_EQ(config.numStages, 2);
  EXPECT_EQ(config.programs, 132) << "no more than are resident";
}

TEST(GemmPlan, WhatAnOperatorDoesNotTakeIsRefused) {
  auto refused = [](const char* op, const GemmConfig& given) -> std::string {
    try {
      GemmAllReduceConfig config{given};
      tableOf(op).checkOptions(&config);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const std::string tiles = "`block_m`, `block_n`, `block_k`, `programs`, `num_warps`, `num_stages`, `b_transposed`, ";
  EXPECT_EQ(refused("gemm_ar", {.group = 4}),
            "`gemm_ar` does not take `group`; it takes " + tiles +
                "`pieces`, `chunks`, `library`, `scattered`, `one_shot_bytes`, `packets_bytes`");
  EXPECT_EQ(refused("ag_gemm", {.scattered = 0}),
            "`ag_gemm` does not take `scattered`; it takes " + tiles +
                "`group`, `bands`, `slices`, `copies`, `pieces`, `chunks`, `few_rows`, `library`");
  EXPECT_EQ(refused("gemm_rs", {.copies = {{1}}}), "`gemm_rs` does not take `copies`; it takes " + tiles +
                                                       "`group`, `pieces`, `chunks`, `few_rows`, `library`");
  EXPECT_EQ(refused("ag_gemm", {.group = 4, .slices = 2, .pieces = 2, .copies = {{1, 1}}}), "");
  EXPECT_EQ(refused("gemm_rs", {.group = 4, .chunks = 0}), "");
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
          EXPECT_TRUE(bounds.leastM <= config.blockM && config.blockM <= bounds.mostM)
              << target << " " << m << " " << n;
          EXPECT_TRUE(bounds.leastN <= config.blockN && config.blockN <= bounds.mostN)
              << target << " " << m << " " << n;
          EXPECT_EQ(bounds.mostM % config.blockM, 0);
          EXPECT_EQ(bounds.mostN % config.blockN, 0);
        }
}

TEST(CopiesOfBlocks, NeedWholeSixteenBytesAndInstructionsForTheType) {
  Tensor even{4096, {8, 64}, DType::BFloat16}, odd{4096, {8, 65}, DType::BFloat16},
      shifted{4104, {8, 64}, DType::BFloat16};
  EXPECT_TRUE(copiesBlocks({even}, DType::BFloat16, false, "sm_90a"));
  EXPECT_FALSE(copiesBlocks({even, odd}, DType::BFloat16, false, "sm_90a"));
  EXPECT_FALSE(copiesBlocks({shifted}, DType::BFloat16, false, "sim"));
  EXPECT_FALSE(copiesBlocks({even}, DType::Float32, false, "sm_90a"));
  EXPECT_TRUE(copiesBlocks({even}, DType::Float32, false, "sim"));
  EXPECT_FALSE(copiesBlocks({even}, DType::Float8E5, false, "sm_90a"));
  EXPECT_TRUE(copiesBlocks({even}, DType::Float8E5, true, "sm_90a"));
  EXPECT_FALSE(copiesBlocks({even}, DType::BFloat16, false, "sm_80"));
}

TEST(Slices, CoverAllColumnsAndNoneIsEmpty) {
  for (auto [m, k] : {std::pair(1000, 1), {1000, 24}, {1000, 64}, {8192, 500}, {8192, 12288}})
    for (int ranks : {1, 2, 4, 8})
      for (int asked : {0, 1, 2, 3, 7, 100}) {
        Slices slices = sliced({m, 64, k, ranks, DType::BFloat16}, {.slices = asked});
        EXPECT_GE(slices.count * slices.columns, k);
        EXPECT_LT((slices.count - 1) * slices.columns, k);
        EXPECT_EQ(slices.columns % 64, 0);
        EXPECT_LE(slices.count, asked ? asked : 12);
        EXPECT_GE(slices.bands * slices.bandRows, (m + ranks - 1) / ranks);
        EXPECT_EQ(slices.bandRows % 128, 0);
        ASSERT_EQ(int64_t(slices.copies.size()), (ranks - 1) * slices.bands);
        for (const std::vector<int>& copies : slices.copies)
          EXPECT_EQ(std::accumulate(copies.begin(), copies.end(), int64_t(0)), slices.count);
      }
}

TEST(Slices, SmallCopiesStandWhereSomebodyWaitsForThem) {
  Slices link = sliced({8192, 1024, 12288, 4, DType::BFloat16});
  EXPECT_EQ(link.copies.front().size(), 1u);
  EXPECT_EQ(link.copies.back(), (std::vector<int>{6, 4, 2}))
      << "the link takes longest: the last data comes in small pieces";
  Slices product = sliced({1024, 7168, 8192, 4, DType::BFloat16});  // fewer own tiles than programs
  EXPECT_EQ(product.copies.front().front(), 1) << "the product takes longest: the first data does";
  EXPECT_EQ(product.copies.back().size(), 1u);
}

TEST(Slices, AreCountedAlikeByRanksThatCopyBlocksAndThoseThatDoNot) {
  for (auto [m, k] : {std::pair(256, 8), {256, 200}, {256, 512}, {256, 1000}, {32768, 8192}})
    for (DType dtype : {DType::BFloat16, DType::Float8E4NV}) {
      Slices blocks = sliced({m, 64, k, 2, dtype}), pointers = sliced({m, 64, k, 2, dtype}, {}, {"sm_90a", 132, false});
      EXPECT_EQ(blocks.count, pointers.count) << k;
      EXPECT_EQ(blocks.columns, pointers.columns) << k;
      EXPECT_EQ(blocks.bands, pointers.bands) << k;
      EXPECT_EQ(blocks.bandRows, pointers.bandRows) << k;
    }
}

TEST(GemmPlan, TilesFollowBandsInSmallGroups) {
  auto groupOf = [](const GemmSizes& sizes, const GemmConfig& given = {}) {
    return choices(gatherModel(), given, sizes, kGpu, kH200).front().config.group;
  };
  EXPECT_EQ(groupOf({8192, 1152, 36864, 2, DType::BFloat16}), 4);
  EXPECT_EQ(groupOf({8192, 1152, 36864, 2, DType::BFloat16}, {.group = 16}), 16);
  EXPECT_EQ(groupOf({8192, 7168, 8192, 2, DType::BFloat16}), 8) << "one band";
}

TEST(Slices, TwoRanksThatTheLinkHoldsSendBandsAndTheLastDataInSmallPieces) {
  Slices slices = sliced({8192, 1152, 36864, 2, DType::BFloat16});
  EXPECT_EQ(slices.bands, 2);
  EXPECT_EQ(slices.bandRows, 2048);
  EXPECT_EQ(slices.copies.back(), (std::vector<int>{6, 4, 2}));
  EXPECT_EQ(sliced({8192, 7168, 8192, 2, DType::BFloat16}).bands, 1) << "the product takes longest";
  EXPECT_EQ(sliced({4096, 1024, 12288, 2, DType::BFloat16}).bands, 1) << "a round of tiles";
  EXPECT_EQ(sliced({23312, 1024, 3584, 2, DType::BFloat16}).bands, 3) << "three rounds of large tiles";
  EXPECT_EQ(sliced({65536, 1024, 2048, 2, DType::BFloat16}).bands, 4) << "the most";
}

TEST(Choices, CutTheTilesLeftOverWhereALastRoundWouldBeNearlyEmpty) {
  auto pieces = [](const GemmSizes& sizes, const GemmConfig& given = {}) {
    return choices(gatherModel(), given, sizes, kGpu, kH200).front().config.pieces;
  };
  EXPECT_GT(pieces({8192, 1152, 36864, 2, DType::BFloat16}, {.blockN = 256}), 1) << "2.42 rounds";
  EXPECT_EQ(pieces({8192, 1024, 12288, 2, DType::BFloat16}), 1) << "1.94 rounds";
  EXPECT_EQ(pieces({8192, 1152, 36864, 2, DType::BFloat16}, {.blockN = 256, .pieces = 1}), 1);
  EXPECT_EQ(choices(scatterModel(), {}, {8192, 4608, 9216, 4, DType::BFloat16}, kGpu, kH200).front().config.pieces, 0);
  EXPECT_EQ(mostPieces({}, 132), 3 * 132);
  EXPECT_EQ(mostPieces({.pieces = 8}, 132), 8 * 132);
  EXPECT_EQ(mostPieces({.pieces = 1}, 132), 1);
}

TEST(Choices, PartsOfFewRowsAreStoredByProgramsAndOthersCopied) {
  auto first = [](const GemmSizes& sizes, const GemmConfig& given = {}) {
    return choices(scatterModel(), given, sizes, kGpu, kH200).front().config;
  };
  EXPECT_GT(first({8192, 4096, 3072, 4, DType::BFloat16}).chunks, 0);
  EXPECT_EQ(first({8192, 4096, 3072, 4, DType::BFloat16}, {.chunks = 0}).chunks, 0);
  EXPECT_EQ(first({64, 7168, 2048, 4, DType::BFloat16}, {.fewRows = 0}).chunks, 0);
  EXPECT_EQ(first({64, 7168, 2048, 4, DType::BFloat16}, {.chunks = 2}).chunks, 2);
}

TEST(FewRows, AreMultipliedAtOnceWhereShardsAreLessThanATile) {
  auto few = [](const GemmModel& model, int64_t m, const GemmConfig& given = {}, const GemmPlace& place = kGpu) {
    return choices(model, given, {m, 7168, 4096, 2, DType::BFloat16}, place, kH200).front().config.fewRows;
  };
  for (const GemmModel* model : {&gatherModel(), &scatterModel()}) {
    for (int64_t m : {1, 5, 64}) EXPECT_EQ(few(*model, m), 1) << m;
    for (int64_t m : {257, 4096}) EXPECT_EQ(few(*model, m), 0) << m;
    EXPECT_EQ(few(*model, 5, {.fewRows = 0}), 0);
    EXPECT_EQ(few(*model, 300, {.fewRows = 1}), 1);
    EXPECT_EQ(few(*model, 5, {.group = 4}), 0) << "an option of the other way";
    EXPECT_EQ(few(*model, 5, {}, {"sm_90a", 132, false}), 0) << "other ranks may copy blocks";
    EXPECT_EQ(few(*model, 5, {}, {"sim", 132, true}), 0);
  }
  EXPECT_EQ(mostFewRows({}, 100), 100);
  EXPECT_EQ(mostFewRows({}, 100000), kMostFewRows);
  EXPECT_EQ(mostFewRows({.fewRows = 1}, 100000), 100000);
  EXPECT_EQ(mostFewRows({.fewRows = 0}, 100), 0);
}

TEST(Library, IsTakenWhereEveryRankHasItAndItIsQuicker) {
  GemmSizes sizes{198, 6144, 11520, 2, DType::BFloat16};
  GemmPlace with = kGpu;
  with.products = true;
  auto library = [&](const GemmConfig& given, const GemmPlace& place) {
    return choices(reduceModel(), given, sizes, place, kH200).front().config.library > 0;
  };
  EXPECT_TRUE(library({}, with));
  EXPECT_FALSE(library({}, kGpu));
  EXPECT_FALSE(library({.library = 0}, with));
  EXPECT_FALSE(library({.pieces = 2}, with)) << "an option of another way";
  EXPECT_TRUE(library({.library = 1}, kGpu)) << "by a plain kernel";
  with.isOwnType = false;
  EXPECT_FALSE(library({}, with));
}

TEST(Library, MultipliesFp8OfATransposedWeightInWholeSixteens) {
  GemmSizes sizes{384, 1536, 2048, 2, DType::Float8E4NV};
  GemmPlace with = kGpu;
  with.products = true;
  auto library = [&](const GemmConfig& given) {
    return choices(gatherModel(), given, sizes, with, kH200).front().config.library > 0;
  };
  EXPECT_TRUE(library({.bTransposed = true}));
  EXPECT_FALSE(library({}));
  EXPECT_THROW(library({.library = 1}), Error);
  sizes.k = 2056;
  EXPECT_FALSE(library({.bTransposed = true}));
  sizes = {384, 1536, 2048, 2, DType::Float8E5};
  EXPECT_THROW(library({.bTransposed = true, .library = 1}), Error);
}

TEST(Library, TakesAboutWhatWasMeasured) {
  auto us = [](int64_t m, int64_t n, int64_t k) { return libraryProductUs({m, n, k, 1, DType::BFloat16}, kH200); };
  EXPECT_NEAR(us(4, 13312, 16384), 115, 14);
  EXPECT_NEAR(us(14, 3072, 2048), 11.3, 1.2);
  EXPECT_NEAR(us(660, 2304, 4608), 25.3, 3);
  EXPECT_NEAR(us(8192, 8192, 14336), 2595, 200);
}

// One H200: the time of this product by cuBLASLt and by tiles, where those are of the kind that is chosen without it.
TEST(Library, TakesRowsThatAreNoWholeNumbersOf16BytesAndFp32) {
  auto us = [](int64_t m, int64_t n, int64_t k, DType dtype) { return libraryProductUs({m, n, k, 1, dtype}, kH200); };
  EXPECT_NEAR(us(4096, 4096, 4099, DType::BFloat16), 966, 200);
  EXPECT_NEAR(us(4096, 4100, 4100, DType::BFloat16), 545, 60);
  EXPECT_NEAR(us(64, 4096, 4099, DType::BFloat16), 46, 12);
  EXPECT_NEAR(us(16, 12565, 4096, DType::BFloat16), 132, 25);
  EXPECT_NEAR(us(1000, 2050, 2050, DType::BFloat16), 57, 15);
  EXPECT_NEAR(us(4096, 4096, 4096, DType::Float32), 2703, 150);
  EXPECT_NEAR(us(4, 4096, 4096, DType::Float32), 40, 6);
  GemmPlace pointers{"sm_90a", 132, false, true}, blocks{"sm_90a", 132, true, true};
  auto first = [](const GemmModel& model, const GemmSizes& sizes, const GemmConfig& given, const GemmPlace& place) {
    return choices(model, given, sizes, place, kH200).front();
  };
  for (const GemmModel* model : {&gatherModel(), &scatterModel(), &reduceModel()}) {
    EXPECT_GT(first(*model, {4096, 4096, 4099, 2, DType::BFloat16}, {}, pointers).config.library, 0);
    EXPECT_GT(first(*model, {4096, 4096, 4096, 2, DType::Float32}, {}, pointers).config.library, 0);
    EXPECT_GT(first(*model, {4, 4096, 4096, 2, DType::Float32}, {}, pointers).config.library, 0);
    EXPECT_GT(first(*model, {16, 12565, 4096, 2, DType::Float16}, {}, pointers).config.library, 0);
    // Only the result's rows: the operands are copied as blocks, and the library would take six times as long.
    EXPECT_LE(first(*model, {4096, 4099, 4096, 2, DType::BFloat16}, {.bTransposed = true}, blocks).config.library, 0);
  }
  GemmChoice own = first(reduceModel(), {4096, 4096, 4099, 1, DType::BFloat16}, {.library = 0}, pointers);
  EXPECT_NEAR(own.microseconds, 3600, 900) << "2908 to 4238 were measured";
  own = first(reduceModel(), {16, 12565, 4096, 1, DType::BFloat16}, {.library = 0}, pointers);
  EXPECT_NEAR(own.microseconds, 276, 50);
  own = first(reduceModel(), {4096, 4096, 4096, 1, DType::Float32}, {.library = 0}, pointers);
  EXPECT_NEAR(own.microseconds, 6778, 700);
}

// Two H200s: 63.0, 110.9 and 86.4 by few rows, of which the model said 47.5, 86.7 and 67.4; the library's sequences took 53.7,
// 95.8 and 79.8.
TEST(Library, IsTakenWhereRowsOfBAreNoWholeLinesOfTheCache) {
  GemmPlace with = kGpu;
  with.products = true;
  struct Case {
    const GemmModel& model;
    GemmSizes sizes;
    double few;
  };
  for (const Case& c : {Case{gatherModel(), {54, 11104, 5376, 2, DType::Float16}, 63.0},
                        {gatherModel(), {16, 10672, 13232, 2, DType::Float16}, 110.9},
                        {scatterModel(), {102, 10080, 8560, 2, DType::Float16}, 86.4}}) {
    EXPECT_GT(choices(c.model, {}, c.sizes, with, kH200).front().config.library, 0) << c.few;
    EXPECT_NEAR(choices(c.model, {.fewRows = 1}, c.sizes, with, kH200).front().microseconds, c.few, .1 * c.few);
  }
}

TEST(Library, ServesRowsUpToWhatItsMemoryHolds) {
  auto most = [](const GemmConfig& given, DType dtype, bool isThere) {
    return mostLibraryRows(given, {1, 8192, 8192, 2, dtype}, 16384, isThere);
  };
  EXPECT_EQ(most({}, DType::BFloat16, true), 2048);
  EXPECT_EQ(most({}, DType::BFloat16, false), 0);
  EXPECT_EQ(most({.library = 0}, DType::BFloat16, true), 0);
  EXPECT_EQ(most({.fewRows = 1}, DType::BFloat16, true), 0);
  EXPECT_EQ(most({}, DType::Float8E5, true), 0);
  EXPECT_GT(mostLibraryRows({}, {1, 8192, 8192, 1, DType::BFloat16}, 16384, true), 1 << 30) << "nothing travels";
  EXPECT_GT(most({.library = 1}, DType::Float16, false), 1 << 30);
}

TEST(Scattered, SumsOfManyRowsAreScatteredFirst) {
  auto scattered = [](int64_t m, const GemmConfig& given = {}, const GemmPlace& place = kGpu) {
    GemmSizes sizes{m, 8192, 28672, 2, DType::BFloat16};
    return choices(reduceModel(), given, sizes, place, kH200).front().config.scattered > 0;
  };
  EXPECT_TRUE(scattered(4096));
  EXPECT_FALSE(scattered(64));
  EXPECT_TRUE(scattered(64, {.scattered = 1}));
  EXPECT_FALSE(scattered(8192, {.scattered = 0}));
  EXPECT_FALSE(scattered(8192, {.pieces = 2})) << "an option of another way";
  EXPECT_FALSE(scattered(8192, {}, {"sim", 132, true}));
  EXPECT_FALSE(scattered(8192, {}, {"sm_90a+nvshmem", 132, true}))
      << "its first half stores to all ranks as one tensor";
}

// As the kernel deals them: each step once, and of each program at most one part that is not a tile's first.
TEST(FewRows, StepsOfTilesLeftOverAreDealtOnce) {
  for (int64_t programs : {1, 5, 132})
    for (int64_t tiles : {1, 3, 40, 131, 168})
      for (int64_t steps : {1, 5, 18, 100})
        for (int pieces : {1, 2, 3, 8}) {
          auto [share, tileSteps] = cutOf({.programs = int(programs), .pieces = pieces}, tiles, steps);
          if (!share) continue;
          int64_t left = tiles % programs;
          std::vector<int> dealt(size_t(left * steps), 0);
          for (int64_t program = 0; program < programs; ++program) {
            int others = 0;
            int64_t end = std::min((program + 1) * share, left * tileSteps);
            for (int64_t tile = program * share / tileSteps; tile * tileSteps < end; ++tile) {
              int64_t first = std::max<int64_t>(program * share - tile * tileSteps, 0);
              for (int64_t s = first; s < std::min(end - tile * tileSteps, steps); ++s)
                ++dealt[size_t(tile * steps + s)];
              others += first > 0;
            }
            EXPECT_LE(others, 1);
          }
          EXPECT_EQ(dealt, std::vector<int>(dealt.size(), 1)) << programs << " " << tiles << " " << steps;
        }
}

TEST(Shards, DealAllRowsAndNeedARank) {
  for (int ranks : {1, 3, 8})
    for (int64_t m : {0, 1, 7, 1000}) {
      int64_t rows = 0;
      for (int rank = 0; rank < ranks; ++rank) rows += rowsOfRank(m, ranks, rank);
      EXPECT_EQ(rows, m);
    }
  EXPECT_THROW(shardRows(5, 0), Error);
  EXPECT_THROW(rowsOfRank(5, -1, 0), Error);
}

TEST(Turns, AreCopiesOrWholeShards) {
  EXPECT_EQ(turnOf({.chunks = 3}, 100), 34);
  EXPECT_EQ(turnOf({.chunks = 0}, 100), 100);
}

TEST(Choices, MayBeGivenToAnotherOperator) {
  for (int ranks : {2, 4})
    for (GemmSizes sizes : {GemmSizes{8192, 1024, 12288, ranks, DType::BFloat16},
                            {300, 64, 1000, ranks, DType::Float16},
                            {8192, 1152, 36864, ranks, DType::Float8E4NV}})
      for (const GemmChoice& choice : choices(gatherModel(), {}, sizes, kGpu, kH200)) {
        GemmConfig given = choice.config;
        given.copies = choice.slices.copies;
        GemmChoice again = choices(gatherModel(), given, sizes, kGpu, kH200).front();
        EXPECT_EQ(again.slices, choice.slices);
        EXPECT_EQ(again.config.pieces, choice.config.pieces);
      }
}

TEST(Choices, AreInTheOrderOfTheModelAndAllDifferent) {
  std::vector<GemmChoice> all = choices(gatherModel(), {}, {8192, 1024, 12288, 4, DType::BFloat16}, kGpu, kH200);
  EXPECT_GT(all.size(), 20u);
  for (size_t i = 1; i < all.size(); ++i) {
    EXPECT_LT(all[i - 1].microseconds, all[i].microseconds + 5);
    for (size_t j = 0; j < i; ++j)
      EXPECT_FALSE(all[i].config.blockM == all[j].config.blockM && all[i].config.blockN == all[j].config.blockN &&
                   all[i].slices == all[j].slices && all[i].config.pieces == all[j].config.pieces);
  }
}

TEST(Choices, ASlowerLinkMovesTheChoice) {
  GemmSizes sizes{2048, 4096, 8192, 4, DType::BFloat16};
  model::Machine quicker = kH200, slow = kH200;
  quicker.copyGbps *= 20;
  slow.copyGbps /= 20;
  Slices quick = choices(gatherModel(), {}, sizes, kGpu, quicker).front().slices,
         late = choices(gatherModel(), {}, sizes, kGpu, slow).front().slices;
  EXPECT_EQ(quick.copies.back().size(), 1u);
  EXPECT_GT(late.copies.back().size(), 1u) << "everybody waits for the last data";
}

// An operator's memory is for these tiles, so that it need not ask for each number of rows.
TEST(GemmPlan, EveryWayOfFewRowsHasOneOfTheTilesThatMemoryIsMadeFor) {
  for (const GemmPlace& place : {kGpu, GemmPlace{"sm_90a", 132, false}, GemmPlace{"sim", 16, true}})
    for (int64_t most : {1, 40, 64, 700, 10000000}) {
      GemmSizes sizes{most, 4096, 4096, 4, DType::BFloat16};
      std::vector<FewTile> tiles = tilesOfFewRows({}, sizes, place);
      for (int64_t m = 1; m <= std::min<int64_t>(most, 700); ++m) {
        sizes.m = m;
        for (const GemmChoice& way : fewRows({}, sizes, place, kH200)) {
          auto isIt = [&](const FewTile& t) {
            return t.config.blockM == way.config.blockM && t.config.blockN == way.config.blockN &&
                   t.config.programs == way.config.programs && t.mostRows >= m;
          };
          EXPECT_TRUE(std::ranges::any_of(tiles, isIt)) << place.target << place.blocks << most << ' ' << m;
        }
      }
    }
}

}  // namespace
}  // namespace tandem::ops
