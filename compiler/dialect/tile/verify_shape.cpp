// Verifiers of the ops that make and rearrange tiles.
#include "compiler/dialect/tile/type_rules.h"
#include <llvm/ADT/BitVector.h>
#include <llvm/Support/MathExtras.h>

using namespace mlir;

namespace tandem::tile {

static LogicalResult verifyResult(Operation* op, Type result, Type expected) {
  if (result == expected) return success();
  return fault(op) << "result has type " << result << " but its operands give " << expected;
}

static LogicalResult verifySameElement(Operation* op, Type a, Type b) {
  Type left = getElementTypeOrSelf(a), right = getElementTypeOrSelf(b);
  if (left == right) return success();
  return fault(op) << "has elements of type " << left << " and " << right;
}

static LogicalResult verifySameRank(Operation* op, Type a, Type b) {
  size_t left = shapeOf(a).size(), right = shapeOf(b).size();
  if (left == right) return success();
  return fault(op) << "has tiles of rank " << left << " and " << right;
}

LogicalResult MakeRangeOp::verify() {
  int64_t size = int64_t(int32_t(getEnd())) - int32_t(getStart());
  auto type = cast<RankedTensorType>(getType());
  if (size <= 0 || !llvm::isPowerOf2_64(size)) return fault(*this) << "has " << size << " integers, not a power of two";
  if (!type.getElementType().isInteger(32) || type.getRank() != 1)
    return fault(*this) << "result has type " << type << ", not a row of i32";
  if (type.getDimSize(0) != size)
    return fault(*this) << "has " << size << " integers but its result " << type.getDimSize(0);
  return success();
}

LogicalResult SplatOp::verify() {
  if (!isScalar(getSource().getType()))
    return fault(*this) << "source has type " << getSource().getType() << ", not a scalar";
  return verifySameElement(*this, getSource().getType(), getType());
}

LogicalResult ExpandDimsOp::verify() {
  auto source = cast<RankedTensorType>(getSource().getType());
  if (failed(verifyAxis(*this, getAxis(), source.getRank() + 1))) return failure();
  SmallVector<int64_t> shape(source.getShape());
  shape.insert(shape.begin() + getAxis(), 1);
  return verifyResult(*this, getType(), source.clone(shape));
}

LogicalResult BroadcastOp::verify() {
  Type source = getSource().getType(), result = getType();
  if (failed(verifySameElement(*this, source, result)) || failed(verifySameRank(*this, source, result)))
    return failure();
  for (auto [axis, from, to] : llvm::enumerate(shapeOf(source), shapeOf(result)))
    if (from != to && from != 1)
      return fault(*this) << "cannot repeat dimension " << axis << " of size " << from << " to size " << to
                          << "; only size 1 repeats";
  return success();
}

LogicalResult ReshapeOp::verify() {
  auto source = cast<RankedTensorType>(getSource().getType()), result = cast<RankedTensorType>(getType());
  if (source.getNumElements() != result.getNumElements())
    return fault(*this) << "cannot make " << source.getNumElements() << " elements (" << shapeText(source.getShape())
                        << ") into " << result.getNumElements() << " (" << shapeText(result.getShape()) << ")";
  return verifySameElement(*this, source, result);
}

LogicalResult PermuteOp::verify() {
  auto source = cast<RankedTensorType>(getSource().getType());
  if (int64_t(getOrder().size()) != source.getRank())
    return fault(*this) << "order has " << getOrder().size() << " entries but its source has rank " << source.getRank();
  llvm::BitVector seen(source.getRank());
  SmallVector<int64_t> shape;
  for (int32_t axis : getOrder()) {
    if (failed(verifyAxis(*this, axis, source.getRank()))) return failure();
    if (seen.test(axis)) return fault(*this) << "order names dimension " << axis << " twice";
    seen.set(axis);
    shape.push_back(source.getDimSize(axis));
  }
  return verifyResult(*this, getType(), source.clone(shape));
}

LogicalResult JoinOp::verify() {
  Type lhs = getLhs().getType();
  if (!isScalar(lhs) && !isa<RankedTensorType>(lhs))
    return fault(*this) << "operands have type " << lhs << ", not a tile or a scalar";
  SmallVector<int64_t> shape(shapeOf(lhs));
  shape.push_back(2);
  return verifyResult(*this, getType(), RankedTensorType::get(shape, getElementTypeOrSelf(lhs)));
}

LogicalResult SplitOp::verify() {
  auto source = cast<RankedTensorType>(getSource().getType());
  if (source.getRank() == 0 || source.getShape().back() != 2)
    return fault(*this) << "source has shape " << shapeText(source.getShape()) << "; its last dimension is not 2";
  return verifyResult(*this, getLhs().getType(), tileOrScalar(source.getShape().drop_back(), source.getElementType()));
}

LogicalResult CatOp::verify() {
  auto lhs = cast<RankedTensorType>(getLhs().getType()), rhs = cast<RankedTensorType>(getRhs().getType());
  if (failed(verifySameElement(*this, lhs, rhs)) || failed(verifySameRank(*this, lhs, rhs))) return failure();
  if (lhs.getRank() == 0 || lhs.getShape().drop_front() != rhs.getShape().drop_front())
    return fault(*this) << "has tiles of shape " << shapeText(lhs.getShape()) << " and " << shapeText(rhs.getShape())
                        << "; they may differ in dimension 0 only";
  SmallVector<int64_t> shape(lhs.getShape());
  shape[0] += rhs.getDimSize(0);
  return verifyResult(*this, getType(), lhs.clone(shape));
}

LogicalResult GatherOp::verify() {
  auto source = cast<RankedTensorType>(getSource().getType()), indices = cast<RankedTensorType>(getIndices().getType());
  if (!indices.getElementType().isInteger(32) && !indices.getElementType().isInteger(64))
    return fault(*this) << "indices have type " << indices.getElementType() << ", not i32 or i64";
  if (failed(verifySameRank(*this, source, indices)) || failed(verifyAxis(*this, getAxis(), source.getRank())))
    return failure();
  for (auto [axis, from, to] : llvm::enumerate(source.getShape(), indices.getShape()))
    if (axis != getAxis() && from != to)
      return fault(*this) << "source and indices have sizes " << from << " and " << to << " in dimension " << axis;
  return verifyResult(*this, getType(), indices.clone(source.getElementType()));
}

LogicalResult HistogramOp::verify() {
  auto source = cast<RankedTensorType>(getSource().getType()), result = cast<RankedTensorType>(getType());
  if (source.getRank() != 1 || !source.getElementType().isInteger())
    return fault(*this) << "source has type " << source << ", not a row of integers";
  if (result.getRank() != 1 || !result.getElementType().isInteger(32))
    return fault(*this) << "result has type " << result << ", not a row of i32";
  return verifyMask(*this, getMask(), source);
}

}  // namespace tandem::tile
