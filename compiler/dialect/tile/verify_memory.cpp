// Verifiers of loads, stores, blocks and atomics.
#include "compiler/dialect/tile/type_rules.h"
#include <llvm/ADT/BitVector.h>

using namespace mlir;

namespace tandem::tile {

static LogicalResult verifyLoadCache(Operation* op, Cache cache) {
  if (cache != Cache::Wb && cache != Cache::Wt) return success();
  return fault(op) << "cannot read with cache operator `" << stringifyCache(cache) << "`";
}

static LogicalResult verifyStoreCache(Operation* op, Cache cache) {
  if (cache != Cache::Ca && cache != Cache::Cv) return success();
  return fault(op) << "cannot write with cache operator `" << stringifyCache(cache) << "`";
}

LogicalResult LoadOp::verify() {
  if (failed(verifyLoadCache(*this, getCache())) ||
      failed(verifyPointed(*this, getPointer().getType(), getType(), "result")) ||
      failed(verifyMask(*this, getMask(), getPointer().getType())))
    return failure();
  if (!getOther()) return success();
  if (!getMask()) return fault(*this) << "has `other` but no mask";
  if (getOther().getType() != getType())
    return fault(*this) << "`other` has type " << getOther().getType() << " but the result " << getType();
  return success();
}

LogicalResult StoreOp::verify() {
  if (failed(verifyStoreCache(*this, getCache())) ||
      failed(verifyPointed(*this, getPointer().getType(), getValue().getType(), "value")))
    return failure();
  return verifyMask(*this, getMask(), getPointer().getType());
}

/// Verifies the operands that block_load and block_store have in common.
template <typename BlockOp>
static LogicalResult verifyBlock(BlockOp op, RankedTensorType block) {
  int64_t rank = block.getRank();
  if (rank == 0) return fault(op) << "block has no dimensions";
  if (int64_t(op.getShape().size()) != rank || int64_t(op.getStrides().size()) != rank ||
      int64_t(op.getOffsets().size()) != rank)
    return fault(op) << "block has rank " << rank << " but there are " << op.getShape().size() << " sizes, "
                     << op.getStrides().size() << " strides and " << op.getOffsets().size() << " offsets";
  if (pointeeOf(op.getBase().getType()) != block.getElementType())
    return fault(op) << "block has elements of type " << block.getElementType() << " but its base points to "
                     << pointeeOf(op.getBase().getType());
  llvm::BitVector seen(rank);
  for (int32_t axis : op.getBoundaryCheck()) {
    if (failed(verifyAxis(op, axis, rank))) return failure();
    if (seen.test(axis)) return fault(op) << "checks dimension " << axis << " twice";
    seen.set(axis);
  }
  return success();
}

LogicalResult BlockLoadOp::verify() {
  auto block = cast<RankedTensorType>(getType());
  if (failed(verifyLoadCache(*this, getCache())) || failed(verifyBlock(*this, block))) return failure();
  if (getPadding() == Padding::Nan && !isa<FloatType>(block.getElementType()))
    return fault(*this) << "cannot pad elements of type " << block.getElementType() << " with NaN";
  return success();
}

LogicalResult BlockStoreOp::verify() {
  auto block = cast<RankedTensorType>(getValue().getType());
  if (failed(verifyStoreCache(*this, getCache())) || failed(verifyBlock(*this, block))) return failure();
  if (!getReduce()) return success();
  if (*getReduce() == Rmw::Xchg) return fault(*this) << "cannot reduce with `xchg`";
  return verifyRmw(*this, *getReduce(), block.getElementType(), /*block=*/true);
}

LogicalResult AtomicRmwOp::verify() {
  Type pointer = getPointer().getType(), value = getValue().getType();
  if (failed(verifyPointed(*this, pointer, value, "value")) ||
      failed(verifyPointed(*this, pointer, getType(), "result")) || failed(verifyMask(*this, getMask(), pointer)))
    return failure();
  return verifyRmw(*this, getRmw(), getElementTypeOrSelf(value));
}

LogicalResult AtomicCasOp::verify() {
  Type value = getValue().getType();
  if (failed(verifyPointed(*this, getPointer().getType(), value, "value"))) return failure();
  return verifyCas(*this, getElementTypeOrSelf(value));
}

}  // namespace tandem::tile
