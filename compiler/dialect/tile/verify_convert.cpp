// Verifiers of pointer arithmetic and of conversions.
#include "compiler/dialect/tile/type_rules.h"

using namespace mlir;

namespace tandem::tile {

static LogicalResult verifySameShape(Operation* op, Type a, Type b) {
  if (sameShape(a, b)) return success();
  return fault(op) << "has shapes " << shapeText(shapeOf(a)) << " and " << shapeText(shapeOf(b));
}

LogicalResult AddPtrOp::verify() {
  Type offset = getElementTypeOrSelf(getOffset());
  if (!offset.isInteger(32) && !offset.isInteger(64))
    return fault(*this) << "offset has type " << offset << ", not i32 or i64";
  return verifySameShape(*this, getPointer().getType(), getOffset().getType());
}

static LogicalResult verifyAddress(Operation* op, Type pointer, Type integer) {
  if (!getElementTypeOrSelf(integer).isInteger(64)) return fault(op) << "address has type " << integer << ", not i64";
  return verifySameShape(op, pointer, integer);
}
LogicalResult PtrToIntOp::verify() { return verifyAddress(*this, getSource().getType(), getType()); }
LogicalResult IntToPtrOp::verify() { return verifyAddress(*this, getType(), getSource().getType()); }

LogicalResult BitcastOp::verify() {
  Type source = getElementTypeOrSelf(getSource()), result = getElementTypeOrSelf(getType());
  if (failed(verifySameShape(*this, getSource().getType(), getType()))) return failure();
  if (isa<PtrType>(source) && isa<PtrType>(result)) return success();
  if (!source.isIntOrFloat() || !result.isIntOrFloat())
    return fault(*this) << "cannot turn " << source << " into " << result << "; both are numbers or both are pointers";
  if (source.getIntOrFloatBitWidth() != result.getIntOrFloatBitWidth())
    return fault(*this) << "has elements of " << source.getIntOrFloatBitWidth() << " and "
                        << result.getIntOrFloatBitWidth() << " bits";
  return success();
}

LogicalResult FpToFpOp::verify() { return verifySameShape(*this, getSource().getType(), getType()); }

LogicalResult ExternElementwiseOp::verify() {
  for (Type operand : getOperandTypes())
    if (!sameShape(operand, getType()))
      return fault(*this) << "has an operand of shape " << shapeText(shapeOf(operand)) << " and a result of shape "
                          << shapeText(shapeOf(getType()));
  return success();
}

LogicalResult InlineAsmOp::verify() {
  if (int32_t(getPack()) < 1) return fault(*this) << "packs " << int32_t(getPack()) << " elements";
  auto types = llvm::to_vector(llvm::concat<const Type>(getOperandTypes(), getResultTypes()));
  for (Type type : types)
    if (!sameShape(type, types.front()))
      return fault(*this) << "has values of shape " << shapeText(shapeOf(types.front())) << " and "
                          << shapeText(shapeOf(type));
  return success();
}

}  // namespace tandem::tile
