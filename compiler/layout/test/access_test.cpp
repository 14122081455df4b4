#include "compiler/layout/access.h"
#include <gtest/gtest.h>
#include <llvm/Support/MathExtras.h>

namespace tandem::layout {
namespace {

// 8192 elements in 256 threads, groups of `length` of one thread together.
LinearLayout row(unsigned length) {
  Bases bits;
  for (uint64_t b = 1; b < 8192; b *= 2) bits.push_back(b);
  unsigned own = llvm::Log2_32(length);
  Bases registers(bits.begin(), bits.begin() + own), lanes(bits.begin() + own, bits.begin() + own + 5),
      warps(bits.begin() + own + 5, bits.begin() + own + 8);
  registers.append(bits.begin() + own + 8, bits.end());
  return LinearLayout({8192}, registers, lanes, warps);
}

TEST(Access, AsManyNeighboursAsOneAccessTakes) {
  EXPECT_EQ(vectorLength(row(8), 16, 16, 0), 8u) << "16 bytes";
  EXPECT_EQ(vectorLength(row(8), 16, 32, 0), 4u) << "16 bytes";
  EXPECT_EQ(vectorLength(row(8), 2, 16, 0), 2u) << "no more are known to be neighbours";
  EXPECT_EQ(vectorLength(row(2), 16, 16, 0), 2u) << "no more are the thread's";
}

TEST(Access, ThreadsFurtherApartTouchMore) {
  std::optional<int64_t> dense = loadCost(row(4), 4, 32, 0), spread = loadCost(row(8), 4, 32, 0);
  ASSERT_TRUE(dense && spread);
  EXPECT_EQ(*dense, 8 * (1 + 4 * 8)) << "eight accesses of 512 bytes; a sector of 16 known bytes counts whole";
  EXPECT_EQ(*spread, *dense) << "two accesses share each sector, but only half of it is known to be one";
  EXPECT_EQ(*loadCost(row(4), 8, 32, 0), 8 * (1 + 4 * 4));
  EXPECT_EQ(*loadCost(row(8), 8, 32, 0), 8 * (1 + 4 * 8));
}

TEST(Access, SparseAccessesHaveNoCost) {
  EXPECT_FALSE(loadCost(row(8), 2, 32, 0)) << "8 bytes of each sector";
  EXPECT_FALSE(loadCost(row(2), 8, 16, 0)) << "4 bytes a thread, though threads are side by side";
  EXPECT_FALSE(loadCost(row(4), 1, 32, 0)) << "addresses of which nothing is known";
}

}  // namespace
}  // namespace tandem::layout
