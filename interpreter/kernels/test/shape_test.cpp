// Shape operations on random shapes against index arithmetic; gather and histogram limits.
#include "reference.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>

namespace tandem::interpreter {
namespace {

using Shape = std::vector<int64_t>;

int64_t count(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

Shape coordinates(int64_t flat, const Shape& shape) {
  Shape index(shape.size());
  for (size_t d = shape.size(); d-- > 0; flat /= shape[d]) index[d] = flat % shape[d];
  return index;
}
int64_t flatten(const Shape& index, const Shape& shape) {
  int64_t flat = 0;
  for (size_t d = 0; d < shape.size(); ++d) flat = flat * shape[d] + index[d];
  return flat;
}

template <class T> std::vector<T> iota(int64_t n) {
  std::vector<T> v(static_cast<size_t>(n));
  std::iota(v.begin(), v.end(), T{});
  return v;
}

Shape randomShape(std::mt19937& random) {
  Shape shape(random() % 5);
  for (int64_t& d : shape) d = 1 + random() % 5;
  return shape;
}

template <class T> void checkPermute(std::mt19937& random) {
  Shape shape = randomShape(random), order(shape.size()), outShape;
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  for (int64_t source : order) outShape.push_back(shape[source]);
  auto in = iota<T>(count(shape));
  std::vector<T> out(in.size());
  permute(in.data(), shape, order, out.data(), sizeof(T));
  for (int64_t i = 0; i < count(outShape); ++i) {
    Shape to = coordinates(i, outShape), from(shape.size());
    for (size_t d = 0; d < order.size(); ++d) from[order[d]] = to[d];
    ASSERT_EQ(out[i], in[flatten(from, shape)]);
  }
}

template <class T> void checkBroadcast(std::mt19937& random) {
  Shape outShape = randomShape(random), shape = outShape;
  for (int64_t& d : shape)
    if (random() % 2) d = 1;
  auto in = iota<T>(count(shape));
  std::vector<T> out(static_cast<size_t>(count(outShape)));
  broadcast(in.data(), shape, out.data(), outShape, sizeof(T));
  for (int64_t i = 0; i < count(outShape); ++i) {
    Shape index = coordinates(i, outShape);
    for (size_t d = 0; d < shape.size(); ++d) index[d] = std::min(index[d], shape[d] - 1);
    ASSERT_EQ(out[i], in[flatten(index, shape)]);
  }
}

TEST(Shape, RandomPermutationsAndBroadcasts) {
  std::mt19937 random(3);
  for (int i = 0; i < 200; ++i) {
    checkPermute<uint8_t>(random);
    checkPermute<uint16_t>(random);
    checkPermute<uint32_t>(random);
    checkPermute<uint64_t>(random);
    checkBroadcast<uint8_t>(random);
    checkBroadcast<uint16_t>(random);
    checkBroadcast<uint32_t>(random);
    checkBroadcast<uint64_t>(random);
  }
}

TEST(Shape, JoinSplitCatSplatRange) {
  std::vector<uint16_t> a = {1, 2, 3}, b = {7, 8, 9}, joined(6), x(3), y(3), cats(5);
  join(a.data(), b.data(), joined.data(), 3, 2);
  EXPECT_EQ(joined, (std::vector<uint16_t>{1, 7, 2, 8, 3, 9}));
  split(joined.data(), x.data(), y.data(), 3, 2);
  EXPECT_EQ(x, a);
  EXPECT_EQ(y, b);
  cat(a.data(), 3, b.data(), 2, cats.data(), 2);
  EXPECT_EQ(cats, (std::vector<uint16_t>{1, 2, 3, 7, 8}));
  double scalar = 2.5;
  std::vector<double> copies(9);
  splat(&scalar, copies.data(), 9, 8);
  EXPECT_EQ(copies, std::vector<double>(9, 2.5));
  std::vector<int32_t> range(3);
  makeRange(INT32_MAX, range.data(), 3);
  EXPECT_EQ(range, (std::vector<int32_t>{INT32_MAX, INT32_MIN, INT32_MIN + 1}));
}

TEST(Gather, EveryAxisAgainstIndexArithmetic) {
  std::mt19937 random(5);
  Shape sourceShape = {3, 4, 5};
  auto source = iota<float>(60);
  for (int64_t axis = 0; axis < 3; ++axis) {
    Shape indexShape = sourceShape;
    indexShape[axis] = 7;
    std::vector<int64_t> indices(static_cast<size_t>(count(indexShape)));
    for (int64_t& i : indices) i = random() % sourceShape[axis];
    std::vector<float> out(indices.size());
    EXPECT_EQ(gather(source.data(), sourceShape, indices.data(), Elem::I64, indexShape, axis, out.data(), 4), -1);
    for (size_t i = 0; i < out.size(); ++i) {
      Shape at = coordinates(static_cast<int64_t>(i), indexShape);
      at[axis] = indices[i];
      ASSERT_EQ(out[i], source[flatten(at, sourceShape)]);
    }
  }
}

TEST(Gather, SaysWhichIndexIsOutOfRange) {
  std::vector<int32_t> source = {1, 2, 3}, indices = {0, 2, 3, -1}, out(4);
  EXPECT_EQ(gather(source.data(), Shape{3}, indices.data(), Elem::I32, Shape{4}, 0, out.data(), 4), 2);
  indices[2] = 1;
  EXPECT_EQ(gather(source.data(), Shape{3}, indices.data(), Elem::I32, Shape{4}, 0, out.data(), 4), 3);
}

TEST(Histogram, IgnoresMaskedAndOutOfRange) {
  std::vector<int16_t> values = {0, 1, 1, -1, 4, 3, 3};
  std::vector<uint8_t> mask = {1, 1, 0, 1, 1, 1, 1};
  std::vector<int32_t> bins(4, 99);
  histogram(values.data(), Elem::I16, mask.data(), values.size(), bins.data(), 4);
  EXPECT_EQ(bins, (std::vector<int32_t>{1, 1, 0, 2}));
  histogram(values.data(), Elem::I16, nullptr, values.size(), bins.data(), 4);
  EXPECT_EQ(bins, (std::vector<int32_t>{1, 2, 0, 2}));
}

}  // namespace
}  // namespace tandem::interpreter
