// The rules about types that verifiers share. Knows types only, no op by name.
#include "compiler/dialect/tile/type_rules.h"
#include <llvm/ADT/StringExtras.h>

using namespace mlir;

namespace tandem::tile {

InFlightDiagnostic fault(Operation* op) { return op->emitError() << "`" << op->getName().getStringRef() << "` "; }

ArrayRef<int64_t> shapeOf(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped && shaped.hasRank() ? shaped.getShape() : ArrayRef<int64_t>();
}

bool isScalar(Type type) { return type.isIntOrIndexOrFloat() || isa<PtrType>(type); }

bool sameShape(Type a, Type b) {
  if (isScalar(a) && isScalar(b)) return true;
  bool tiles = isa<RankedTensorType>(a) && isa<RankedTensorType>(b), vectors = isa<VectorType>(a) && isa<VectorType>(b);
  return (tiles || vectors) && shapeOf(a) == shapeOf(b) && !ShapedType::isDynamicShape(shapeOf(a));
}

Type withElement(Type shape, Type element) {
  if (auto tile = dyn_cast<RankedTensorType>(shape)) return tile.clone(element);
  return element;
}

Type tileOrScalar(ArrayRef<int64_t> dimensions, Type element) {
  return dimensions.empty() ? element : RankedTensorType::get(dimensions, element);
}

Type pointeeOf(Type pointer) { return cast<PtrType>(getElementTypeOrSelf(pointer)).getPointee(); }

std::string shapeText(ArrayRef<int64_t> shape) {
  if (shape.empty()) return "scalar";
  return llvm::join(
      llvm::map_range(
          shape, [](int64_t size) { return ShapedType::isDynamic(size) ? std::string("?") : std::to_string(size); }),
      "x");
}

LogicalResult verifyAxis(Operation* op, int32_t axis, int64_t rank) {
  if (axis >= 0 && axis < rank) return success();
  return fault(op) << "axis " << axis << " is outside 0 to " << rank - 1;
}

LogicalResult verifyPointed(Operation* op, Type pointer, Type value, StringRef what) {
  Type expected = withElement(pointer, pointeeOf(pointer));
  if (value == expected) return success();
  return fault(op) << what << " has type " << value << " but its pointer gives " << expected;
}

LogicalResult verifyMask(Operation* op, Value mask, Type like) {
  if (!mask) return success();
  if (!getElementTypeOrSelf(mask).isInteger(1)) return fault(op) << "mask has type " << mask.getType() << ", not i1";
  if (!sameShape(mask.getType(), like))
    return fault(op) << "mask has shape " << shapeText(shapeOf(mask.getType())) << " but what it masks has shape "
                     << shapeText(shapeOf(like));
  return success();
}

static bool isWideNumber(Type element) {
  return element.isIntOrFloat() && (element.getIntOrFloatBitWidth() == 32 || element.getIntOrFloatBitWidth() == 64);
}

LogicalResult verifyRmw(Operation* op, Rmw rmw, Type element, bool block) {
  bool isFloat = isa<FloatType>(element), isHalf = element.isF16() || element.isBF16(), allowed = false;
  switch (rmw) {
    case Rmw::FAdd: allowed = isHalf || (isFloat && isWideNumber(element)); break;
    case Rmw::Xchg: allowed = isWideNumber(element); break;
    case Rmw::Max:
    case Rmw::Min: allowed = isWideNumber(element) || (block && isHalf); break;
    default: allowed = element.isInteger() && isWideNumber(element); break;
  }
  if (allowed) return success();
  return fault(op) << "cannot do atomic `" << stringifyRmw(rmw) << "` on elements of type " << element;
}

LogicalResult verifyCas(Operation* op, Type element) {
  if (isWideNumber(element) || (element.isIntOrFloat() && element.getIntOrFloatBitWidth() == 16)) return success();
  return fault(op) << "cannot compare and swap elements of type " << element << "; they have 16, 32 or 64 bits";
}

LogicalResult verifySignal(Operation* op, Type pointer) {
  if (pointeeOf(pointer).isInteger(64)) return success();
  return fault(op) << "signal has type " << pointeeOf(pointer) << ", not i64";
}

}  // namespace tandem::tile
