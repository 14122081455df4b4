// Bringing operands to one shape: scalars repeat, missing dimensions are added in front, sizes of 1 repeat.
#include "compiler/frontend/semantic/typed_op.h"

namespace tandem::frontend::semantic {
namespace {

Tensor padRank(Context& context, Tensor tensor, size_t rank) {
  while (tensor.type.shape.size() < rank) tensor = expandDims(context, tensor, 0);
  return tensor;
}

Tensor fillVector(Context& context, const Tensor& scalar, uint32_t length) {
  Type type{scalar.type.dtype, {}, length};
  std::vector<mlir::Value> elements(length, scalar.value);
  return make<simt::VectorOp>(context, type, mlir::ValueRange(elements));
}

[[noreturn]] void failVectors(Context& context, const Tensor& a, const Tensor& b) {
  context.fail("shape-mismatch", "cannot make shapes compatible: " + describe(a) + " and " + describe(b));
}

std::pair<Tensor, Tensor> broadcastVectors(Context& context, Tensor a, Tensor b) {
  if (a.type.isTile() || b.type.isTile()) failVectors(context, a, b);
  if (a.type.isScalar()) return {fillVector(context, a, b.type.vectorLength), b};
  if (b.type.isScalar()) return {a, fillVector(context, b, a.type.vectorLength)};
  if (a.type.vectorLength != b.type.vectorLength) failVectors(context, a, b);
  return {a, b};
}

std::vector<int64_t> commonShape(Context& context, const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  std::vector<int64_t> shape;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i] && a[i] != 1 && b[i] != 1)
      context.fail("shape-mismatch", "cannot make shapes compatible: " + shapeText(a) + " and " + shapeText(b) +
                                         " have sizes " + std::to_string(a[i]) + " and " + std::to_string(b[i]) +
                                         " in dimension " + std::to_string(i));
    shape.push_back(a[i] == 1 ? b[i] : a[i]);
  }
  checkShape(context, shape, "broadcast shape");
  return shape;
}

}  // namespace

std::string shapeText(const std::vector<int64_t>& shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) out += (i ? ", " : "") + std::to_string(shape[i]);
  return out + "]";
}

Tensor splat(Context& context, Tensor scalar, const std::vector<int64_t>& shape) {
  if (shape.empty()) return scalar;
  checkShape(context, shape, "shape");
  return make<tile::SplatOp>(context, {scalar.type.dtype, shape, 0}, scalar.value);
}

Tensor broadcastLike(Context& context, const Value& number, const Type& type) {
  Tensor scalar = constant(context, number, type.dtype);
  return type.isVector() ? fillVector(context, scalar, type.vectorLength) : splat(context, scalar, type.shape);
}

Tensor broadcastTo(Context& context, Tensor tensor, const std::vector<int64_t>& shape) {
  const std::vector<int64_t>& from = tensor.type.shape;
  if (tensor.type.isVector())
    context.fail("shape-mismatch", "cannot broadcast a " + describe(tensor) + " to shape " + shapeText(shape));
  if (tensor.type.isScalar()) return splat(context, tensor, shape);
  if (from.size() != shape.size())
    context.fail("shape-mismatch", "cannot broadcast shape " + shapeText(from) + " of rank " +
                                       std::to_string(from.size()) + " to " + shapeText(shape) + " of rank " +
                                       std::to_string(shape.size()));
  if (from == shape) return tensor;
  checkShape(context, shape, "shape");
  for (size_t i = 0; i < shape.size(); ++i)
    if (from[i] != shape[i] && from[i] != 1)
      context.fail("shape-mismatch", "cannot broadcast shape " + shapeText(from) + " to " + shapeText(shape) +
                                         ": dimension " + std::to_string(i) + " has size " + std::to_string(from[i]) +
                                         ", which is neither 1 nor " + std::to_string(shape[i]));
  return make<tile::BroadcastOp>(context, {tensor.type.dtype, shape, 0}, tensor.value);
}

std::pair<Tensor, Tensor> broadcast(Context& context, Tensor a, Tensor b) {
  if (sameShape(a.type, b.type)) return {a, b};
  if (a.type.isVector() || b.type.isVector()) return broadcastVectors(context, a, b);
  if (a.type.isScalar()) return {splat(context, a, b.type.shape), b};
  if (b.type.isScalar()) return {a, splat(context, b, a.type.shape)};
  size_t rank = std::max(a.type.shape.size(), b.type.shape.size());
  auto padded = [rank](std::vector<int64_t> shape) {
    shape.insert(shape.begin(), rank - shape.size(), 1);
    return shape;
  };
  std::vector<int64_t> shape = commonShape(context, padded(a.type.shape), padded(b.type.shape));
  return {broadcastTo(context, padRank(context, a, rank), shape),
          broadcastTo(context, padRank(context, b, rank), shape)};
}

}  // namespace tandem::frontend::semantic
