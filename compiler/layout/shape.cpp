// Each operation is a linear map on positions; the layout of its other end is that map after the bases.
#include "compiler/layout/shape.h"
#include "compiler/layout/gf2.h"
#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/MathExtras.h>

namespace tandem::layout {
namespace {

llvm::SmallVector<int64_t> copy(llvm::ArrayRef<int64_t> shape) { return {shape.begin(), shape.end()}; }

llvm::SmallVector<int64_t> withoutAxis(llvm::ArrayRef<int64_t> shape, unsigned axis) {
  llvm::SmallVector<int64_t> result = copy(shape);
  result.erase(result.begin() + axis);
  return result;
}

llvm::SmallVector<unsigned> inverseOrder(llvm::ArrayRef<unsigned> order) {
  llvm::SmallVector<unsigned> result(order.size());
  for (auto [i, axis] : llvm::enumerate(order)) result[axis] = i;
  return result;
}

}  // namespace

LinearLayout projectSlice(const LinearLayout& source, unsigned axis) {
  unsigned shift = source.axisShift(axis), bits = llvm::Log2_64(source.shape()[axis]);
  return source.mapBases(withoutAxis(source.shape(), axis), [&](uint64_t basis) {
    uint64_t low = basis & ((uint64_t(1) << shift) - 1);
    return basis >> (shift + bits) << shift | low;
  });
}

LinearLayout slice(const LinearLayout& source, unsigned axis) {
  return projectSlice(source, axis).withoutZeroBases(Dim::Register);
}

LinearLayout dealtSlice(const LinearLayout& source, unsigned axis) {
  LinearLayout out = slice(source, axis);
  llvm::ArrayRef<uint64_t> lanes = source.bases(Dim::Lane);
  Bases& registers = out.mutableBases(Dim::Register);
  for (size_t bit = lanes.size(); bit-- > 0 && !registers.empty();)
    if (lanes[bit] & source.axisMask(axis)) {
      out.mutableBases(Dim::Lane)[bit] = registers.front();
      registers.erase(registers.begin());
    }
  return out;
}

LinearLayout inferExpandDims(const LinearLayout& source, unsigned axis) {
  llvm::SmallVector<int64_t> shape = copy(source.shape());
  shape.insert(shape.begin() + axis, 1);
  return source.withShape(shape);
}

LinearLayout inferExpandDimsSource(const LinearLayout& result, unsigned axis) {
  return result.withShape(withoutAxis(result.shape(), axis));
}

LinearLayout inferPermute(const LinearLayout& source, llvm::ArrayRef<unsigned> order) {
  auto permuted = [&](llvm::ArrayRef<int64_t> values) {
    return llvm::to_vector(llvm::map_range(order, [&](unsigned axis) { return values[axis]; }));
  };
  LinearLayout frame(permuted(source.shape()));
  return source.mapBases(frame.shape(),
                         [&](uint64_t basis) { return frame.position(permuted(source.coordinates(basis))); });
}

LinearLayout inferPermuteSource(const LinearLayout& result, llvm::ArrayRef<unsigned> order) {
  return inferPermute(result, inverseOrder(order));
}

LinearLayout inferReshape(const LinearLayout& source, llvm::ArrayRef<int64_t> shape) { return source.withShape(shape); }
LinearLayout inferReshapeSource(const LinearLayout& result, llvm::ArrayRef<int64_t> shape) {
  return result.withShape(shape);
}

LinearLayout inferBroadcast(const LinearLayout& source, llvm::ArrayRef<int64_t> shape) {
  LinearLayout frame(shape);
  LinearLayout result =
      source.mapBases(shape, [&](uint64_t basis) { return frame.position(source.coordinates(basis)); });
  for (unsigned axis = shape.size(); axis-- > 0;)
    for (int64_t step = source.shape()[axis]; step < shape[axis]; step *= 2)
      result.mutableBases(Dim::Register).push_back(uint64_t(step) << frame.axisShift(axis));
  return result;
}

LinearLayout projectBroadcast(const LinearLayout& result, llvm::ArrayRef<int64_t> sourceShape) {
  LinearLayout frame(sourceShape);
  return result.mapBases(sourceShape, [&](uint64_t basis) {
    llvm::SmallVector<int64_t> coordinates = result.coordinates(basis);
    for (auto [coordinate, size] : llvm::zip_equal(coordinates, sourceShape)) coordinate &= size - 1;
    return frame.position(coordinates);
  });
}

LinearLayout inferBroadcastSource(const LinearLayout& result, llvm::ArrayRef<int64_t> shape) {
  return projectBroadcast(result, shape).withoutZeroBases(Dim::Register);
}

LinearLayout inferJoin(const LinearLayout& source) {
  llvm::SmallVector<int64_t> shape = copy(source.shape());
  shape.push_back(2);
  LinearLayout result = source.mapBases(shape, [](uint64_t basis) { return basis << 1; });
  Bases& registers = result.mutableBases(Dim::Register);
  registers.insert(registers.begin(), 1);
  return result;
}

LinearLayout projectJoin(const LinearLayout& result) {
  return result.mapBases(result.shape().drop_back(), [](uint64_t basis) { return basis >> 1; });
}

LinearLayout inferJoinSource(const LinearLayout& result) { return projectJoin(result).withoutZeroBases(Dim::Register); }

std::optional<LinearLayout> inferSplit(const LinearLayout& source) {
  // The pair is in one thread when the other bits of hardware indices say nothing about which of the two it is.
  LinearLayout others = source;
  Bases& registers = others.mutableBases(Dim::Register);
  auto* pair = llvm::find(registers, 1);
  if (pair == registers.end()) return std::nullopt;
  registers.erase(pair);
  for (unsigned d = 0; d < kDimCount; ++d)
    for (uint64_t basis : others.bases(Dim(d)))
      if (basis & 1) return std::nullopt;
  return projectJoin(others);
}

LinearLayout inferSplitSource(const LinearLayout& result) { return inferJoin(result); }

LinearLayout inferCat(const LinearLayout& source) {
  llvm::SmallVector<int64_t> shape = copy(source.shape());
  shape[0] *= 2;
  LinearLayout result = source.withShape(shape);
  result.mutableBases(Dim::Register).push_back(source.numElements());
  return result;
}

LinearLayout projectCat(const LinearLayout& result) {
  llvm::SmallVector<int64_t> shape = copy(result.shape());
  shape[0] /= 2;
  uint64_t half = result.numElements() / 2;
  return result.mapBases(shape, [&](uint64_t basis) { return basis & (half - 1); });
}

LinearLayout inferCatSource(const LinearLayout& result) { return projectCat(result).withoutZeroBases(Dim::Register); }

std::optional<llvm::SmallVector<unsigned>> registersFor(const LinearLayout& wanted, const LinearLayout& held) {
  for (Dim dim : {Dim::Lane, Dim::Warp, Dim::Block})
    if (wanted.bases(dim) != held.bases(dim)) return std::nullopt;
  Span span;
  for (auto [bit, basis] : llvm::enumerate(held.bases(Dim::Register))) span.insert(basis, uint64_t(1) << bit);
  Bases sources;
  for (uint64_t basis : wanted.bases(Dim::Register)) {
    std::optional<uint64_t> source = span.solve(basis);
    if (!source) return std::nullopt;
    sources.push_back(*source);
  }
  llvm::SmallVector<unsigned> result;
  for (int64_t r = 0; r < wanted.numRegisters(); ++r) result.push_back(combine(sources, r));
  return result;
}

}  // namespace tandem::layout
