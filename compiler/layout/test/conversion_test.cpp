// Every plan moves every value where it belongs.
#include "compiler/layout/distributed.h"
#include "compiler/layout/shape.h"
#include "simulate.h"

namespace tandem::layout {
namespace {

constexpr int64_t kPlenty = 1 << 20;
constexpr MatrixInstructions kAll{true, true};

// Every kind that applies, not only the cheapest.
void expectAllConvert(const LinearLayout& src, const LinearLayout& dst, unsigned elemBits, int64_t scratchBytes,
                      MatrixInstructions matrices) {
  expectConverts(plan(src, dst, elemBits, scratchBytes, matrices), src, dst, elemBits);
  if (auto permute = permuteRegisters(src, dst)) expectConverts(*permute, src, dst, elemBits);
  if (auto shuffled = shuffle(src, dst)) expectConverts(*shuffled, src, dst, elemBits);
  expectConverts(throughShared(src, dst, elemBits, scratchBytes, matrices), src, dst, elemBits);
}

TEST(Conversion, RandomLayouts) {
  Random random(1);
  const llvm::SmallVector<int64_t> shapes[] = {{},     {1},    {2},      {16},     {128},
                                               {1024}, {4, 4}, {16, 64}, {64, 32}, {2, 8, 16}};
  unsigned elemBits[] = {8, 16, 32, 64};
  for (int trial = 0; trial < 800; ++trial) {
    const auto& shape = shapes[random() % std::size(shapes)];
    unsigned warpBits = random() % 4;
    bool mixed = random() % 3 == 0;
    LinearLayout src = randomLayout(shape, 5, warpBits, mixed, random),
                 dst = randomLayout(shape, 5, warpBits, mixed, random);
    ASSERT_TRUE(src.isSurjective() && dst.isSurjective());
    int64_t budget = random() % 2 ? kPlenty : 64 << random() % 6;
    expectAllConvert(src, dst, elemBits[random() % 4], budget, random() % 2 ? kAll : MatrixInstructions{});
    if (testing::Test::HasFailure()) return;
  }
}

// Destinations that differ from the source inside a warp only.
TEST(Conversion, RandomShuffles) {
  Random random(2);
  int shuffles = 0, swapsBoth = 0;
  for (int trial = 0; trial < 400; ++trial) {
    bool mixed = random() % 3 == 0;
    LinearLayout src = randomLayout({16, 64}, 5, 2, mixed, random), dst = src;
    Vectors inWarp(src.bases(Dim::Register));
    inWarp.append(src.bases(Dim::Lane).begin(), src.bases(Dim::Lane).end());
    std::shuffle(inWarp.begin(), inWarp.end(), random);
    for (size_t i = 0; mixed && i + 1 < inWarp.size(); ++i)
      if (random() % 2) inWarp[i] ^= inWarp[i + 1];
    dst.mutableBases(Dim::Lane).assign(inWarp.begin(), inWarp.begin() + 5);
    dst.mutableBases(Dim::Register).assign(inWarp.begin() + 5, inWarp.end());
    std::optional<Shuffle> shuffled = shuffle(src, dst);
    ASSERT_TRUE(shuffled) << src.str() << "\n" << dst.str();
    ++shuffles;
    swapsBoth += llvm::any_of(shuffled->preSwaps, [](uint64_t m) { return m != 0; }) &&
                 llvm::any_of(shuffled->postSwaps, [](uint64_t m) { return m != 0; });
    expectAllConvert(src, dst, 32, kPlenty, {});
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_EQ(shuffles, 400);
  EXPECT_GT(swapsBoth, 50);
}

struct Pair {
  const char* name;
  LinearLayout src, dst;
  unsigned elemBits;
};

std::vector<Pair> commonPairs() {
  std::vector<Pair> pairs;
  for (unsigned bits : {8u, 16u, 32u}) {
    LinearLayout rows = defaultBlocked({64, 128}, bits, {32, 4}),
                 columns = defaultBlocked({64, 128}, bits, {32, 4}, {0u, 1u});
    pairs.push_back({"rows to columns", rows, columns, bits});
    pairs.push_back({"columns to rows", columns, rows, bits});
    pairs.push_back({"blocked to mma", rows, mmaV2Result({64, 128}, {2, 2}), bits});
    pairs.push_back({"mma to blocked", mmaV2Result({64, 128}, {2, 2}), rows, bits});
    pairs.push_back({"wgmma to blocked", wgmmaResult({64, 128}, {4, 1}, 128), rows, bits});
    pairs.push_back({"blocked to operand A", rows, dotOperandA({64, 128}, bits, {2, 2}), bits});
    pairs.push_back({"blocked to operand B", rows, dotOperandB({64, 128}, bits, {2, 2}), bits});
    pairs.push_back({"columns to operand B", columns, dotOperandB({64, 128}, bits, {2, 2}), bits});
  }
  return pairs;
}

TEST(Conversion, CommonPairsWithoutConflicts) {
  for (const Pair& pair : commonPairs())
    for (MatrixInstructions matrices : {MatrixInstructions{}, kAll}) {
      SCOPED_TRACE(std::string(pair.name) + " " + std::to_string(pair.elemBits));
      Conversion conversion = plan(pair.src, pair.dst, pair.elemBits, kPlenty, matrices);
      EXPECT_EQ(kindName(conversion), "through_shared");
      EXPECT_GT(cost(conversion, pair.src, pair.elemBits), 0);
      expectConverts(conversion, pair.src, pair.dst, pair.elemBits);
      ThroughShared through = throughShared(pair.src, pair.dst, pair.elemBits, kPlenty, matrices);
      EXPECT_EQ(countConflicts(through, pair.elemBits), 0) << through.scratch.offsets.str();
    }
}

// Layouts whose bases are bits of the position, 4 bytes an element, never conflict, whatever the order of the bits.
TEST(Conversion, BitPermutationsWithoutConflicts) {
  Random random(11);
  for (int trial = 0; trial < 200; ++trial) {
    LinearLayout src = randomLayout({32, 64}, 5, 2, false, random), dst = randomLayout({32, 64}, 5, 2, false, random);
    EXPECT_EQ(countConflicts(throughShared(src, dst, 32, kPlenty), 32), 0) << src.str() << "\n" << dst.str();
  }
}

// A product's result that becomes a right operand changes place by stmatrix and a transposing ldmatrix. Vectors take as
// many passes, but their words would be put together and taken apart by byte permutations.
TEST(Conversion, ResultToRightOperandByMatrices) {
  Scratch scratch = conflictFree(mmaV2Result({64, 32}, {2, 1}), dotOperandB({64, 32}, 16, {2, 1}), 16, kPlenty, kAll);
  EXPECT_EQ(scratch.store, Access::Matrix);
  EXPECT_EQ(scratch.load, Access::MatrixTransposed);
}

// Registers of an access follow each other where they lie as they were loaded, or as an instruction takes them. Vectors of what both
// sides' registers have in common take as many passes, but hold parts of four loads and of four operands.
TEST(Conversion, LoadedRowsToOperandsWithoutMoves) {
  LinearLayout rows = blocked({64, 128}, {1, 8}, {2, 16}, {4, 1}, {1, 0}),
               columns = blocked({128, 64}, {8, 1}, {16, 2}, {1, 4}, {0, 1});
  auto expectInOrder = [](const LinearLayout& side, const Scratch& scratch, Access access, int64_t vector) {
    EXPECT_EQ(vector, 8);
    if (access != Access::Vector) return;
    for (const auto& group : vectorGroups(offsetsOf(side, scratch.offsets), vector))
      EXPECT_EQ(group.back() - group.front(), 7u) << scratch.offsets.str();
  };
  for (const auto& [src, dst] :
       {std::pair(rows, dotOperandA({64, 128}, 16, {4, 1})), std::pair(columns, dotOperandB({128, 64}, 16, {1, 4}))}) {
    Scratch scratch = conflictFree(src, dst, 16, kPlenty, kAll);
    expectInOrder(src, scratch, scratch.store, scratch.storeVector);
    expectInOrder(dst, scratch, scratch.load, scratch.loadVector);
  }
}

// A conflict is accepted only where wider accesses gain more than it costs: one element at a time there is none.
TEST(Conversion, NeverDearerThanOneElementAtATime) {
  Random random(12);
  for (int trial = 0; trial < 200; ++trial) {
    LinearLayout src = randomLayout({32, 64}, 5, 2, true, random), dst = randomLayout({32, 64}, 5, 2, true, random);
    for (unsigned elemBits : {8u, 16u, 32u, 64u}) {
      ThroughShared through = throughShared(src, dst, elemBits, kPlenty);
      int64_t accesses = src.numRegisters() + dst.numRegisters(), passes = std::max(1u, elemBits / 32);
      int64_t barrier = through.withinWarp ? 8 : 32;
      EXPECT_LE(cost(through, src, elemBits), accesses * (2 * passes + 1) + barrier);
    }
  }
}

// Warps that keep their rows meet in no round.
TEST(Conversion, RoundsWithinWarps) {
  LinearLayout product = wgmmaResult({128, 256}, {8, 1}, 256);
  LinearLayout rows({128, 256}, {1, 2, 4, 256, 512, 1024, 2048}, {8, 16, 32, 64, 128}, {4096, 8192, 16384});
  for (int64_t bytes : {1 << 17, 1 << 15}) {
    ThroughShared through = throughShared(product, rows, 16, bytes);
    EXPECT_EQ(through.scratch.rounds, bytes == 1 << 17 ? 1 : 2);
    EXPECT_TRUE(through.withinWarp);
    expectConverts(through, product, rows, 16);
  }
}

TEST(Conversion, Kinds) {
  LinearLayout mma = mmaV2Result({64, 64}, {4, 1}), operand = dotOperandA({64, 64}, 16, {4, 1});
  // The result of one product feeds the next without leaving its thread.
  EXPECT_EQ(kindName(plan(mma, operand, 16, kPlenty)), "no_op");
  EXPECT_EQ(kindName(plan(wgmmaResult({64, 64}, {4, 1}, 64), wgmmaOperandA({64, 64}, 16, {4, 1}), 16, kPlenty)),
            "no_op");
  LinearLayout byRow({64}, {1, 2}, {4, 8, 16, 32, 0}, {}), byColumn({64}, {2, 1}, {4, 8, 16, 32, 0}, {});
  ASSERT_EQ(kindName(plan(byRow, byColumn, 16, kPlenty)), "register_permute");
  EXPECT_EQ(std::get<RegisterPermute>(plan(byRow, byColumn, 16, kPlenty)).sources,
            (llvm::SmallVector<unsigned>{0, 2, 1, 3}));
  // The operands of 8-bit elements want four neighbours a thread, results have two.
  Conversion bytes = plan(mma, dotOperandA({64, 64}, 8, {4, 1}), 8, kPlenty);
  EXPECT_EQ(kindName(bytes), "shuffle");
  // A vector held in slices: of rows to of columns.
  LinearLayout blockedLayout = defaultBlocked({64, 64}, 32, {32, 4});
  LinearLayout overRows = slice(blockedLayout, 1), overColumns = slice(blockedLayout, 0);
  LinearLayout spread = defaultBlocked({64}, 32, {32, 4});
  for (const auto& [src, dst] : {std::pair(overRows, overColumns), std::pair(overColumns, overRows),
                                 std::pair(overRows, spread), std::pair(spread, overRows)})
    expectAllConvert(src, dst, 32, kPlenty, kAll);
  // Copies everywhere become one part each by selection alone.
  LinearLayout copies({8}, {1, 2, 4}, {0, 0, 0, 0, 0}, {0, 0}), parts({8}, {}, {1, 2, 4, 0, 0}, {0, 0});
  Conversion choice = plan(copies, parts, 32, kPlenty);
  ASSERT_TRUE(std::holds_alternative<Shuffle>(choice));
  EXPECT_FALSE(std::get<Shuffle>(choice).movesLanes());
  expectConverts(choice, copies, parts, 32);
}

TEST(Conversion, AcrossBlocks) {
  LinearLayout rows = blocked({16, 64}, {1, 2}, {1, 32}, {4, 1}, {1, 0}, {2, 1});
  LinearLayout columns = blocked({16, 64}, {1, 1}, {1, 32}, {4, 1}, {1, 0}, {1, 2});
  EXPECT_EQ(kindName(plan(rows, columns, 32, kPlenty)), "across_blocks");
  LinearLayout other = blocked({16, 64}, {2, 1}, {1, 32}, {1, 4}, {0, 1}, {2, 1});
  Conversion inside = plan(rows, other, 32, kPlenty);
  EXPECT_EQ(kindName(inside), "through_shared");
  expectConverts(inside, rows, other, 32);
  EXPECT_EQ(scratchBytes(inside, 32), 8 * 64 * 4);
}

TEST(Conversion, RoundsFitTheBudget) {
  LinearLayout src = defaultBlocked({64, 64}, 32, {32, 4}), dst = mmaV2Result({64, 64}, {2, 2});
  constexpr int64_t tensorBytes = 64 * 64 * 4;
  for (int64_t budget = 16; budget <= tensorBytes; budget *= 4) {
    ThroughShared through = throughShared(src, dst, 32, budget);
    EXPECT_EQ(scratchBytes(through, 32), budget);
    EXPECT_EQ(through.scratch.rounds, tensorBytes / budget);
    expectConverts(through, src, dst, 32);
    if (budget >= tensorBytes / 4) {
      EXPECT_TRUE(through.scratch.uniformRounds) << budget;
      EXPECT_EQ(countConflicts(through, 32), 0);
    }
  }
}

}  // namespace
}  // namespace tandem::layout
