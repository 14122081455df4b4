// The analyses' claims about random kernels must be true of the numbers that the kernels compute.
#include "compiler/analysis/test/random_kernel.h"
#include "compiler/analysis/test/strides_check.h"

namespace tandem::analysis::test {

namespace {

struct Claims {
  int contiguous = 0, divisible = 0, constant = 0;
};

// Checks the runs of one dimension; gives the first thing that is not so.
std::string falsehood(const DimInfo& dim, const RandomKernel::Tile& tile, int axis) {
  int size = axis == 0 ? kRows : kColumns, step = axis == 0 ? kColumns : 1;
  for (int line = 0; line < kRows * kColumns / size; ++line)
    for (int i = 0; i < size; ++i) {
      int first = axis == 0 ? line : line * kColumns;
      auto at = [&](int64_t index) { return tile[first + index * step]; };
      if (at(i) != at(i / dim.contiguity * dim.contiguity) + i % dim.contiguity) return "contiguity";
      if (i % dim.contiguity == 0 && at(i) % std::min<int64_t>(dim.divisibility, 1 << 30) != 0) return "divisibility";
      if (at(i) != at(i / dim.constancy * dim.constancy)) return "constancy";
    }
  return "";
}

void count(const AxisInfo& info, Claims& claims) {
  for (const DimInfo& dim : info.dims) {
    claims.contiguous += dim.contiguity > 1;
    claims.divisible += dim.divisibility > 1;
    claims.constant += dim.constancy > 1;
  }
}

void checkTile(const AxisInfo& info, const RandomKernel::Tile& tile, const std::string& where) {
  ASSERT_EQ(info.rank(), 2u);
  for (int axis : {0, 1})
    ASSERT_EQ(falsehood(info.dims[axis], tile, axis), "") << "dimension " << axis << " of " << where;
  if (info.constant) ASSERT_TRUE(llvm::all_of(tile, [&](int64_t v) { return v == *info.constant; })) << where;
  if (info.nonNegative) ASSERT_TRUE(llvm::all_of(tile, [&](int64_t v) { return v >= 0; })) << where;
}

}  // namespace

TEST(Random, AxisInfoHolds) {
  Claims claims;
  for (unsigned seed = 0; seed < 200; ++seed) {
    RandomKernel random(seed, 30, false);
    Kernel kernel(random.text());
    AxisInfoAnalysis axes(kernel.function());
    for (size_t n = 0; n < random.tiles().size(); ++n) {
      const AxisInfo& info = axes.of(kernel.value("v" + std::to_string(n)));
      checkTile(info, random.tiles()[n],
                "%v" + std::to_string(n) + " (" + std::to_string(seed) + ") in\n" + random.text());
      if (HasFatalFailure()) return;
      if (n > 12) count(info, claims);
    }
    for (size_t n = 0; n < random.masks().size(); ++n)
      for (int axis : {0, 1}) ASSERT_LE(1, axes.of(kernel.value("mask" + std::to_string(n))).constancy(axis));
  }
  EXPECT_GT(claims.contiguous, 100);
  EXPECT_GT(claims.divisible, 500);
  EXPECT_GT(claims.constant, 500);
}

TEST(Random, ConstancyOfMasksHolds) {
  int claimed = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    RandomKernel random(seed, 12, false);
    Kernel kernel(random.text());
    AxisInfoAnalysis axes(kernel.function());
    for (size_t n = 0; n < random.masks().size(); ++n)
      for (int axis : {0, 1}) {
        DimInfo dim{1, 1, axes.of(kernel.value("mask" + std::to_string(n))).constancy(axis)};
        ASSERT_EQ(falsehood(dim, random.masks()[n], axis), "") << "mask " << n << " in\n" << random.text();
        claimed += dim.constancy > 1;
      }
  }
  EXPECT_GT(claimed, 100);
}

namespace {

int64_t valueOf(const ScalarExpr& e, const RandomKernel& random) {
  int64_t sum = 0;
  for (const ScalarExpr::Term& term : e.terms()) {
    int64_t product = term.factor;
    for (mlir::Value symbol : term.symbols) product *= random.scalars().at(nameOf(symbol));
    sum += product;
  }
  return sum;
}

// The element of `access` at (row, column): its distance from the base, or nothing where the access does not happen.
std::optional<int64_t> elementAt(const StridedAccess& access, const RandomKernel& random, int row, int column) {
  int64_t distance = valueOf(access.baseOffset, random);
  for (int axis : {0, 1}) {
    const DimAccess& dim = access.dims[axis];
    int64_t place = valueOf(dim.offset, random) + (axis == 0 ? row : column);
    if (dim.bound && place >= valueOf(*dim.bound, random)) return std::nullopt;
    if (dim.lowerBound && place < valueOf(*dim.lowerBound, random)) return std::nullopt;
    distance += (dim.wrap ? place % valueOf(*dim.wrap, random) : place) * valueOf(dim.stride, random);
  }
  return distance;
}

}  // namespace

TEST(Random, StridedAccessesReachWhatThePointersReach) {
  int recognised = 0, masked = 0, wrapped = 0;
  for (unsigned seed = 0; seed < 1000; ++seed) {
    RandomKernel random(seed, 8, true);
    int offset = int(random.tiles().size()) - 1 - random.pick(4), mask = random.pick(4) - 1;
    Kernel kernel(random.text(
        "%ptrs = tile.splat %ptr : !tile.ptr<f16> -> tensor<8x16x!tile.ptr<f16>>\n%p = tile.addptr %ptrs, %v" +
        std::to_string(offset) + " {name = \"p\"} : tensor<8x16x!tile.ptr<f16>>, tensor<8x16xi32>\n"));
    AxisInfoAnalysis axes(kernel.function());
    auto access = StrideAnalysis(axes).of(kernel.value("p"),
                                          mask < 0 ? mlir::Value() : kernel.value("mask" + std::to_string(mask)));
    if (!access) continue;
    recognised += 1;
    masked += mask >= 0;
    wrapped += access->dims[0].wrap || access->dims[1].wrap;
    for (int i = 0; i < kRows * kColumns; ++i) {
      std::optional<int64_t> expected = random.tiles()[offset][i];
      if (mask >= 0 && !random.masks()[mask][i]) expected.reset();
      ASSERT_EQ(elementAt(*access, random, i / kColumns, i % kColumns), expected)
          << "element " << i << " of " << text(access) << " (" << seed << ") in\n"
          << random.text();
    }
  }
  EXPECT_GT(recognised, 150);
  EXPECT_GT(masked, 30);
  EXPECT_GT(wrapped, 8);
}

}  // namespace tandem::analysis::test
