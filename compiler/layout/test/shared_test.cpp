// Patterns in shared memory against address arithmetic, and bank conflicts against a count.
#include "compiler/layout/shared.h"
#include "compiler/layout/chunk_lines.h"
#include "compiler/layout/distributed.h"
#include "simulate.h"

namespace tandem::layout {
namespace {

// The byte address of an element as TMA defines it: box, row, 16-byte chunk XORed with address bits 7 and up.
int64_t addressOf(int64_t row, int64_t rows, int64_t column, unsigned elemBits, Swizzle swizzle) {
  int64_t width = rowBytes(swizzle), byte = column * elemBits / 8;
  int64_t linear = byte / width * rows * width + row * width + byte % width;
  int64_t chunks = width / 16 - 1;
  return linear ^ ((linear >> 7 & chunks) << 4);
}

// Lanes of mma.sync read one word of each of four neighbouring rows, or one byte of every fourth row.
TEST(ChunkLines, WarpsMeetInNoBank) {
  for (unsigned elemBits : {8u, 32u}) {
    LinearLayout offsets = swizzledOffsets({64, 128}, elemBits, Swizzle::Bytes128);
    std::vector<LinearLayout> reads{dotOperandB({64, 128}, elemBits, {1, 4})};
    LinearLayout chosen = withFewestPasses(offsets, reads, elemBits);
    EXPECT_TRUE(chosen.isInjective() && chosen.isSurjective());
    EXPECT_GT(bankConflicts(offsetsOf(reads[0], offsets), elemBits, 1), 0);
    EXPECT_EQ(bankConflicts(offsetsOf(reads[0], chosen), elemBits, 1), 0);
  }
}

TEST(ChunkLines, TheLowestStayWhereNothingIsGained) {
  LinearLayout offsets = swizzledOffsets({64, 64}, 16, Swizzle::Bytes128);
  std::vector<LinearLayout> reads{dotOperandB({64, 64}, 16, {1, 4})};
  EXPECT_EQ(withFewestPasses(offsets, reads, 16), offsets);
  EXPECT_EQ(withFewestPasses(offsets, {}, 16), offsets);
}

TEST(Swizzle, MatchesTheAddressArithmetic) {
  for (unsigned elemBits : {8u, 16u, 32u})
    for (Swizzle swizzle : {Swizzle::None, Swizzle::Bytes32, Swizzle::Bytes64, Swizzle::Bytes128}) {
      int64_t rows = 32, columns = 2048 / elemBits;
      LinearLayout byRow = swizzledOffsets({rows, columns}, elemBits, swizzle);
      LinearLayout byColumn = swizzledOffsets({columns, rows}, elemBits, swizzle, {0u, 1u});
      EXPECT_TRUE(byRow.isInjective() && byRow.isSurjective());
      Bases offsetsByRow = inverse(byRow), offsetsByColumn = inverse(byColumn);
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c) {
          int64_t wanted = addressOf(r, rows, c, elemBits, swizzle);
          EXPECT_EQ(int64_t(combine(offsetsByRow, byRow.position({r, c})) * elemBits / 8), wanted);
          EXPECT_EQ(int64_t(combine(offsetsByColumn, byColumn.position({c, r})) * elemBits / 8), wanted);
        }
    }
  EXPECT_EQ(swizzledOffsets({4, 8}, 16, Swizzle::None), plainOffsets({4, 8}));
  EXPECT_EQ(widestSwizzle(256), Swizzle::Bytes128);
  EXPECT_EQ(widestSwizzle(64), Swizzle::Bytes64);
  EXPECT_EQ(widestSwizzle(16), Swizzle::None);
}

TEST(Swizzle, OffsetsOfAndInverse) {
  LinearLayout offsets = swizzledOffsets({64, 64}, 16, Swizzle::Bytes128), layout = mmaV2Result({64, 64}, {2, 2});
  LinearLayout where = offsetsOf(layout, offsets);
  for (int64_t r = 0; r < layout.numRegisters(); ++r)
    for (int64_t l = 0; l < 32; ++l)
      for (int64_t w = 0; w < 4; ++w)
        EXPECT_EQ(offsets.apply(Dim::Offset, where.apply(r, l, w)), layout.apply(r, l, w));
}

// ldmatrix reads a swizzled tile without conflicts, in both directions.
TEST(Matrix, ReadsSwizzledTiles) {
  LinearLayout tile = swizzledOffsets({64, 64}, 16, Swizzle::Bytes128);
  LinearLayout a = offsetsOf(dotOperandA({64, 64}, 16, {2, 2}), tile),
               b = offsetsOf(dotOperandB({64, 64}, 16, {2, 2}), tile);
  EXPECT_TRUE(fitsMatrix(a, 16, false));
  EXPECT_FALSE(fitsMatrix(a, 16, true));
  EXPECT_TRUE(fitsMatrix(b, 16, true));
  EXPECT_FALSE(fitsMatrix(b, 16, false));
  EXPECT_EQ(matrixBankConflicts(a, 16, false), 0);
  EXPECT_EQ(matrixBankConflicts(b, 16, true), 0);
  LinearLayout plain = offsetsOf(dotOperandA({64, 64}, 16, {2, 2}), plainOffsets({64, 64}));
  EXPECT_TRUE(fitsMatrix(plain, 16, false));
  EXPECT_EQ(matrixBankConflicts(plain, 16, false), 7);
  EXPECT_FALSE(fitsMatrix(offsetsOf(defaultBlocked({64, 64}, 16, {32, 4}), tile), 16, false));
  LinearLayout bytes = offsetsOf(dotOperandA({64, 128}, 8, {2, 2}), swizzledOffsets({64, 128}, 8, Swizzle::Bytes128));
  EXPECT_TRUE(fitsMatrix(bytes, 8, false));
  EXPECT_FALSE(fitsMatrix(bytes, 8, true));
}

// The words that one ldmatrix brings are those of one instruction's operand, in its order: rows 0 and 8, then columns 8
// on. In memory's order the words of a row come first, and a product would need its words moved together.
TEST(Matrix, WordsComeInTheOrderOfRegisters) {
  LinearLayout tile = swizzledOffsets({64, 64}, 16, Swizzle::Bytes128);
  for (const LinearLayout& layout : {dotOperandA({64, 64}, 16, {2, 2}), dotOperandB({64, 64}, 16, {2, 2})})
    for (bool transposed : {false, true}) {
      LinearLayout offsets = offsetsOf(layout, tile);
      if (!fitsMatrix(offsets, 16, transposed)) continue;
      unsigned next = 0;
      for (const auto& word : matrixWords(offsets, 16, transposed))
        for (unsigned r : word) EXPECT_EQ(r, next++);
      EXPECT_EQ(next, layout.numRegisters());
    }
}

TEST(Banks, CountedOnKnownAccesses) {
  LinearLayout columns({32, 32}, {1, 2, 4, 8, 16}, {32, 64, 128, 256, 512}, {});
  EXPECT_EQ(bankConflicts(offsetsOf(columns, plainOffsets({32, 32})), 32, 1), 31);
  EXPECT_EQ(bankConflicts(offsetsOf(columns, plainOffsets({32, 32}, {0u, 1u})), 32, 1), 0);
  // 16-bit neighbours share words.
  EXPECT_EQ(bankConflicts(offsetsOf(columns, plainOffsets({32, 32}, {0u, 1u})), 16, 1), 0);
  EXPECT_EQ(bankConflicts(offsetsOf(columns, plainOffsets({32, 32})), 32, 4), 4 * 7);
}

TEST(Vector, WidestThatEveryThreadCanUse) {
  LinearLayout tile = swizzledOffsets({64, 64}, 16, Swizzle::Bytes128);
  EXPECT_EQ(widestVector(offsetsOf(defaultBlocked({64, 64}, 16, {32, 4}), tile), 16), 8);
  EXPECT_EQ(widestVector(offsetsOf(mmaV2Result({64, 64}, {2, 2}), tile), 16), 2);
  EXPECT_EQ(widestVector(offsetsOf(defaultBlocked({64, 64}, 16, {32, 4}, {0u, 1u}), tile), 16), 1);
  EXPECT_EQ(widestVector(offsetsOf(defaultBlocked({64, 64}, 64, {32, 4}), plainOffsets({64, 64})), 64), 2);
  // Neighbours in registers, but lanes begin in the middle of a pair.
  EXPECT_EQ(widestVector(LinearLayout({64}, {1, 2}, {5, 8, 16, 32, 0}, {}), 32), 1);
  Random random(13);
  for (int trial = 0; trial < 200; ++trial) {
    LinearLayout layout = randomLayout({256}, 4, 1, trial % 2, random);
    int64_t vector = widestVector(layout, 32);
    for (const auto& group : vectorGroups(layout, vector)) {
      ASSERT_EQ(int64_t(group.size()), vector);
      for (int64_t l = 0; l < 16; ++l)
        for (auto [i, r] : llvm::enumerate(group)) EXPECT_EQ(layout.apply(r, l, 1), layout.apply(group[0], l, 1) + i);
    }
  }
}

// Stores and loads as wide as the layouts allow, when they agree.
TEST(ConflictFree, Widths) {
  LinearLayout rows = defaultBlocked({64, 64}, 16, {32, 4}), wider = blocked({64, 64}, {2, 8}, {32, 1}, {1, 4}, {1, 0});
  Scratch scratch = conflictFree(rows, wider, 16, 1 << 20);
  EXPECT_EQ(scratch.storeVector, 8);
  EXPECT_EQ(scratch.loadVector, 8);
  EXPECT_EQ(scratch.rounds, 1);
  Scratch stored = conflictFree(mmaV2Result({64, 64}, {2, 2}), rows, 16, 1 << 20, {true, true});
  EXPECT_EQ(stored.store, Access::Matrix);
  EXPECT_EQ(stored.loadVector, 8);
  Scratch loaded = conflictFree(rows, dotOperandB({64, 64}, 16, {2, 2}), 16, 1 << 20, {true, true});
  EXPECT_EQ(loaded.load, Access::MatrixTransposed);
  EXPECT_EQ(loaded.storeVector, 8);
  Scratch without = conflictFree(rows, dotOperandB({64, 64}, 16, {2, 2}), 16, 1 << 20);
  EXPECT_EQ(without.load, Access::Vector);
}

}  // namespace
}  // namespace tandem::layout
