// Making and rearranging tiles.
#include "compiler/frontend/semantic/typed_op.h"
#include <limits>

namespace tandem::frontend::semantic {
namespace {

void needTile(Context& context, const Tensor& tensor, const char* what) {
  if (!tensor.type.isTile())
    context.fail("shape-mismatch", std::string("`") + what + "` needs a tile, not a " + describe(tensor));
}

int64_t elementCount(const std::vector<int64_t>& shape) { return Type{{}, shape, 0}.numel(); }

}  // namespace

int wrapAxis(Context& context, Int axis, size_t rank, const std::string& what) {
  Int size = Int(rank);
  if (axis < -size || axis >= size)
    context.fail("out-of-range",
                 "`" + what + "` " + repr(Value(axis)) + " is outside the " + std::to_string(rank) + " dimensions");
  return int(axis < 0 ? axis + size : axis);
}

Tensor arange(Context& context, Int start, Int end) {
  std::string range = repr(Value(start)) + " to " + repr(Value(end));
  Int limit = std::numeric_limits<int32_t>::max();
  if (start < -limit - 1 || start > limit || end < -limit - 1 || end > limit)
    context.fail("out-of-range", "`arange` from " + range + " does not fit in int32");
  if (end <= start)
    context.fail("out-of-range", "`arange` from " + range + " is empty; its end must be greater than its start");
  std::vector<int64_t> shape{int64_t(end - start)};
  checkShape(context, shape, "arange");
  return make<tile::MakeRangeOp>(context, {int32, shape, 0}, uint32_t(int32_t(start)), uint32_t(int32_t(end)));
}

Tensor expandDims(Context& context, Tensor tensor, int axis) {
  std::vector<int64_t> shape = tensor.type.shape;
  int at = wrapAxis(context, axis, shape.size() + 1, "axis");
  shape.insert(shape.begin() + at, 1);
  if (tensor.type.isVector())
    context.fail("shape-mismatch", "`expand_dims` needs a tile or a scalar, not a " + describe(tensor));
  if (tensor.type.isScalar()) return splat(context, tensor, shape);
  return make<tile::ExpandDimsOp>(context, {tensor.type.dtype, shape, 0}, tensor.value, uint32_t(at));
}

Tensor reshape(Context& context, Tensor tensor, const std::vector<int64_t>& shape, bool canReorder) {
  if (tensor.type.isVector()) needTile(context, tensor, "reshape");
  checkShape(context, shape, "shape");
  if (elementCount(shape) != tensor.type.numel())
    context.fail("shape-mismatch", "cannot reshape " + shapeText(tensor.type.shape) + " of " +
                                       std::to_string(tensor.type.numel()) + " elements to " + shapeText(shape) +
                                       " of " + std::to_string(elementCount(shape)));
  if (tensor.type.isScalar()) return splat(context, tensor, shape);
  if (shape.empty()) return onlyElement(context, tensor);
  if (shape == tensor.type.shape) return tensor;
  return make<tile::ReshapeOp>(context, {tensor.type.dtype, shape, 0}, tensor.value, canReorder);
}

Tensor permute(Context& context, Tensor tensor, const std::vector<int64_t>& order) {
  needTile(context, tensor, "permute");
  const std::vector<int64_t>& from = tensor.type.shape;
  if (order.size() != from.size())
    context.fail("shape-mismatch", "`permute` has " + std::to_string(order.size()) + " dimensions for a tile of rank " +
                                       std::to_string(from.size()));
  std::vector<bool> seen(from.size());
  std::vector<int64_t> shape;
  std::vector<int32_t> axes;
  for (int64_t entry : order) {
    int axis = wrapAxis(context, entry, from.size(), "permute");
    if (seen[size_t(axis)])
      context.fail("shape-mismatch",
                   "`permute` " + shapeText(order) + " names dimension " + std::to_string(axis) + " twice");
    seen[size_t(axis)] = true;
    axes.push_back(axis);
    shape.push_back(from[size_t(axis)]);
  }
  return make<tile::PermuteOp>(context, {tensor.type.dtype, shape, 0}, tensor.value, llvm::ArrayRef<int32_t>(axes));
}

Tensor join(Context& context, Tensor lhs, Tensor rhs) {
  if (lhs.type.dtype != rhs.type.dtype)
    context.fail("type-mismatch",
                 "`join` operands have types `" + lhs.type.dtype.name() + "` and `" + rhs.type.dtype.name() + "`");
  if (lhs.type.isVector()) needTile(context, lhs, "join");
  if (rhs.type.isVector()) needTile(context, rhs, "join");
  auto [a, b] = broadcast(context, lhs, rhs);
  Type type = a.type;
  type.shape.push_back(2);
  checkShape(context, type.shape, "join");
  // The same tile twice needs no exchange of neighbours, whichever layout the result has.
  if (a.value == b.value && a.type.isTile())
    return broadcastTo(context, expandDims(context, a, a.type.shape.size()), type.shape);
  return make<tile::JoinOp>(context, type, a.value, b.value);
}

std::pair<Tensor, Tensor> split(Context& context, Tensor tensor) {
  needTile(context, tensor, "split");
  if (tensor.type.shape.back() != 2)
    context.fail("shape-mismatch",
                 "`split` needs a last dimension of size 2, not shape " + shapeText(tensor.type.shape));
  Type half = tensor.type;
  half.shape.pop_back();
  mlir::Type type = half.toMLIR(context.builder.getContext());
  auto op = tile::SplitOp::create(context.builder, context.loc(), type, type, tensor.value);
  return {{op.getLhs(), half}, {op.getRhs(), half}};
}

Tensor cat(Context& context, Tensor lhs, Tensor rhs) {
  needTile(context, lhs, "cat");
  needTile(context, rhs, "cat");
  if (lhs.type.dtype != rhs.type.dtype)
    context.fail("type-mismatch",
                 "`cat` operands have types `" + lhs.type.dtype.name() + "` and `" + rhs.type.dtype.name() + "`");
  if (lhs.type.shape.size() != 1 || rhs.type.shape.size() != 1)
    context.fail("shape-mismatch", "`cat` operands have shapes " + shapeText(lhs.type.shape) + " and " +
                                       shapeText(rhs.type.shape) + ", not both rank 1");
  std::vector<int64_t> shape{lhs.type.shape[0] + rhs.type.shape[0]};
  checkShape(context, shape, "cat");
  return make<tile::CatOp>(context, {lhs.type.dtype, shape, 0}, lhs.value, rhs.value);
}

Tensor gather(Context& context, Tensor source, Tensor indices, int axis) {
  needTile(context, source, "gather");
  needTile(context, indices, "gather");
  const std::vector<int64_t>&from = source.type.shape, &at = indices.type.shape;
  if (!indices.type.dtype.isInt())
    context.fail("type-mismatch", "`gather` needs integer indices, not a " + describe(indices));
  if (from.size() != at.size())
    context.fail("shape-mismatch", "`gather` source and indices have ranks " + std::to_string(from.size()) + " and " +
                                       std::to_string(at.size()));
  int along = wrapAxis(context, axis, from.size(), "axis");
  for (size_t i = 0; i < from.size(); ++i)
    if (int(i) != along && from[i] != at[i])
      context.fail("shape-mismatch", "`gather` source and indices have sizes " + std::to_string(from[i]) + " and " +
                                         std::to_string(at[i]) + " in dimension " + std::to_string(i));
  if (indices.type.dtype.bitWidth() < 32) indices = cast(context, indices, int32);
  return make<tile::GatherOp>(context, {source.type.dtype, at, 0}, source.value, indices.value, uint32_t(along));
}

Tensor histogram(Context& context, Tensor input, int64_t bins, std::optional<Tensor> mask) {
  if (input.type.shape.size() != 1 || !input.type.dtype.isInt())
    context.fail("shape-mismatch", "`histogram` needs a tile of integers of rank 1, not a " + describe(input));
  checkShape(context, {bins}, "num_bins");
  mlir::Value selected;
  if (mask) selected = broadcastTo(context, nonZero(context, *mask), input.type.shape).value;
  return make<tile::HistogramOp>(context, {int32, {bins}, 0}, input.value, selected);
}

}  // namespace tandem::frontend::semantic
