// Shape operations carried out position by position.
#include "compiler/layout/shape.h"
#include "compiler/layout/distributed.h"
#include "simulate.h"

namespace tandem::layout {
namespace {

template <typename Check>
void forEachIndex(const LinearLayout& layout, Check check) {
  for (int64_t r = 0; r < layout.numRegisters(); ++r)
    for (int64_t l = 0; l < layout.numLanes(); ++l)
      for (int64_t w = 0; w < layout.numWarps(); ++w) check(r, l, w);
}

// A thread finds each register's source among its own registers.
void expectLocal(const LinearLayout& projected, const LinearLayout& source) {
  std::optional<llvm::SmallVector<unsigned>> sources = registersFor(projected, source);
  ASSERT_TRUE(sources) << projected.str() << "\n" << source.str();
  forEachIndex(projected, [&](int64_t r, int64_t l, int64_t w) {
    EXPECT_EQ(source.apply((*sources)[r], l, w), projected.apply(r, l, w));
  });
}

TEST(Shape, Slice) {
  Random random(8);
  for (int trial = 0; trial < 60; ++trial) {
    LinearLayout source = randomLayout({4, 8, 16}, 5, 2, false, random);
    for (unsigned axis : {0u, 1u, 2u}) {
      LinearLayout projected = projectSlice(source, axis), result = slice(source, axis);
      forEachIndex(source, [&](int64_t r, int64_t l, int64_t w) {
        llvm::SmallVector<int64_t> at = source.coordinates(source.apply(r, l, w));
        at.erase(at.begin() + axis);
        EXPECT_EQ(projected.coordinates(projected.apply(r, l, w)), at);
      });
      EXPECT_EQ(result.freeMask(Dim::Register), 0u);
      EXPECT_TRUE(result.isSurjective());
      expectLocal(projected, result);
    }
  }
}

// Each lane keeps some of what it and others held in common, and together they keep all.
TEST(Shape, DealtSlice) {
  LinearLayout source = mmaV2Result({16, 64}, {1, 4}), copied = slice(source, 0), dealt = dealtSlice(source, 0);
  EXPECT_EQ(copied.numRegisters(), 4);
  EXPECT_EQ(dealt.numRegisters(), 1);
  EXPECT_EQ(dealt.bases(Dim::Lane)[4], copied.bases(Dim::Register)[0]);
  EXPECT_EQ(dealt.bases(Dim::Lane)[3], copied.bases(Dim::Register)[1]);
  EXPECT_EQ(dealt.bases(Dim::Lane)[2], 0u);
  Random random(9);
  for (int trial = 0; trial < 60; ++trial) {
    source = randomLayout({4, 8, 16}, 5, 2, false, random);
    for (unsigned axis : {0u, 1u, 2u}) {
      dealt = dealtSlice(source, axis);
      EXPECT_TRUE(dealt.isSurjective());
      EXPECT_EQ(dealt.freeMask(Dim::Register), 0u);
      EXPECT_LE(dealt.numRegisters(), slice(source, axis).numRegisters());
    }
  }
}

// Reduce, expand and broadcast again: no data moves.
TEST(Shape, SliceComesBackByBroadcast) {
  for (const LinearLayout& layout :
       {mmaV2Result({64, 64}, {2, 2}), wgmmaResult({128, 64}, {4, 1}, 64), defaultBlocked({16, 256}, 16, {32, 4})})
    for (unsigned axis : {0u, 1u}) {
      llvm::SmallVector<int64_t> shape(layout.shape());
      shape[axis] = 1;
      LinearLayout source = inferExpandDimsSource(inferBroadcastSource(layout, shape), axis);
      EXPECT_EQ(source, slice(layout, axis));
      EXPECT_EQ(inferExpandDims(source, axis).shape(), llvm::ArrayRef<int64_t>(shape));
      expectLocal(projectBroadcast(layout, shape), inferExpandDims(source, axis));
    }
}

TEST(Shape, Broadcast) {
  Random random(9);
  for (int trial = 0; trial < 60; ++trial) {
    LinearLayout source = randomLayout({16, 1, 4}, 5, 1, trial % 2, random);
    LinearLayout result = inferBroadcast(source, {16, 8, 4}), projected = projectBroadcast(result, source.shape());
    EXPECT_TRUE(result.isSurjective());
    forEachIndex(result, [&](int64_t r, int64_t l, int64_t w) {
      llvm::SmallVector<int64_t> at = result.coordinates(result.apply(r, l, w));
      at[1] = 0;
      EXPECT_EQ(source.coordinates(projected.apply(r, l, w)), at);
    });
    expectLocal(projected, source);
    EXPECT_EQ(inferBroadcastSource(result, source.shape()), source);
  }
}

TEST(Shape, Permute) {
  Random random(10);
  llvm::SmallVector<unsigned> order = {2, 0, 1};
  for (int trial = 0; trial < 60; ++trial) {
    LinearLayout source = randomLayout({4, 8, 16}, 5, 1, trial % 2, random), result = inferPermute(source, order);
    EXPECT_EQ(result.shape(), llvm::ArrayRef<int64_t>({16, 4, 8}));
    forEachIndex(source, [&](int64_t r, int64_t l, int64_t w) {
      llvm::SmallVector<int64_t> from = source.coordinates(source.apply(r, l, w)),
                                 to = result.coordinates(result.apply(r, l, w));
      for (unsigned i = 0; i < 3; ++i) EXPECT_EQ(to[i], from[order[i]]);
    });
    EXPECT_EQ(inferPermuteSource(result, order), source);
  }
}

TEST(Shape, Reshape) {
  LinearLayout source = defaultBlocked({16, 64}, 16, {32, 4}), result = inferReshape(source, {4, 4, 64});
  EXPECT_EQ(result.apply(1, 5, 2), source.apply(1, 5, 2));
  EXPECT_EQ(inferReshapeSource(result, {16, 64}), source);
}

TEST(Shape, JoinAndSplit) {
  LinearLayout source = defaultBlocked({16, 32}, 32, {32, 4}), joined = inferJoin(source);
  EXPECT_EQ(joined.shape(), llvm::ArrayRef<int64_t>({16, 32, 2}));
  forEachIndex(joined, [&](int64_t r, int64_t l, int64_t w) {
    EXPECT_EQ(joined.apply(r, l, w), source.apply(r / 2, l, w) * 2 + r % 2);
  });
  EXPECT_EQ(inferJoinSource(joined), source);
  EXPECT_EQ(inferSplit(joined), source);
  EXPECT_EQ(inferSplitSource(source), joined);
  expectLocal(projectJoin(joined), source);
  // Pairs spread over lanes: a join can be made there, a split cannot.
  LinearLayout spread({4, 2}, {2}, {1, 4, 0, 0, 0}, {});
  EXPECT_EQ(inferSplit(spread), std::nullopt);
  expectLocal(projectJoin(spread), inferJoinSource(spread));
  EXPECT_EQ(inferSplit(LinearLayout({4, 2}, {1, 2}, {5, 0, 0, 0, 0}, {})), std::nullopt);
}

TEST(Shape, Cat) {
  LinearLayout source = defaultBlocked({256}, 32, {32, 4}), result = inferCat(source);
  EXPECT_EQ(result.numElements(), 512);
  forEachIndex(result, [&](int64_t r, int64_t l, int64_t w) {
    int64_t registers = source.numRegisters();
    EXPECT_EQ(result.apply(r, l, w), source.apply(r % registers, l, w) + (r / registers) * 256);
  });
  EXPECT_EQ(inferCatSource(result), source);
  LinearLayout other = defaultBlocked({512}, 32, {32, 4});
  expectLocal(projectCat(other), inferCatSource(other));
}

TEST(Shape, RegistersOfAnotherThreadAreNotFound) {
  EXPECT_EQ(registersFor(LinearLayout({4}, {1}, {2}, {}), LinearLayout({4}, {2}, {1}, {})), std::nullopt);
  EXPECT_EQ(registersFor(LinearLayout({4}, {1, 2}, {0}, {}), LinearLayout({4}, {1}, {0}, {2})), std::nullopt);
}

}  // namespace
}  // namespace tandem::layout
