// Verifiers of per-thread memory accesses and of shared-memory buffers.
#include "compiler/dialect/simt/simt.h"
#include "compiler/dialect/tile/type_rules.h"

using namespace mlir;
using namespace tandem::tile;

namespace tandem::simt {

/// One thread accesses the pointee, or a vector of consecutive pointees.
static LogicalResult verifyAccess(Operation* op, Type pointer, Type value) {
  Type pointee = pointeeOf(pointer);
  auto vector = dyn_cast<VectorType>(value);
  if (value == pointee || (vector && vector.getRank() == 1 && vector.getElementType() == pointee)) return success();
  return fault(op) << "accesses " << value << " through a pointer to " << pointee;
}

static LogicalResult verifyOrder(Operation* op, Semantic sem, bool weak, Semantic strongest) {
  if (sem != Semantic::Relaxed && sem != strongest)
    return fault(op) << "cannot have order `" << stringifySemantic(sem) << "`; it is `relaxed` or `"
                     << stringifySemantic(strongest) << "`";
  if (weak && sem != Semantic::Relaxed) return fault(op) << "is weak and has order `" << stringifySemantic(sem) << "`";
  return success();
}

LogicalResult LdOp::verify() {
  if (failed(verifyOrder(*this, getSem(), getWeak(), Semantic::Acquire))) return failure();
  return verifyAccess(*this, getPointer().getType(), getType());
}

LogicalResult StOp::verify() {
  if (failed(verifyOrder(*this, getSem(), getWeak(), Semantic::Release))) return failure();
  return verifyAccess(*this, getPointer().getType(), getValue().getType());
}

LogicalResult AtomicRmwOp::verify() {
  Type pointer = getPointer().getType();
  if (failed(verifyPointed(*this, pointer, getValue().getType(), "value")) ||
      failed(verifyPointed(*this, pointer, getType(), "result")))
    return failure();
  return verifyRmw(*this, getRmw(), getType());
}

LogicalResult AtomicCasOp::verify() {
  if (failed(verifyPointed(*this, getPointer().getType(), getType(), "value"))) return failure();
  return verifyCas(*this, getType());
}

LogicalResult MultimemStOp::verify() { return verifyAccess(*this, getPointer().getType(), getValue().getType()); }
LogicalResult MultimemLdReduceOp::verify() { return verifyAccess(*this, getPointer().getType(), getType()); }

static SmemType smemOf(Value buffer) { return cast<SmemType>(buffer.getType()); }

static LogicalResult verifyWhole(Operation* op, SmemType buffer, Type tile) {
  Type expected = RankedTensorType::get(buffer.getShape(), buffer.getElementType());
  if (tile == expected) return success();
  return fault(op) << "has a tile of type " << tile << " for a buffer of " << expected;
}

static LogicalResult verifyElement(Operation* op, SmemType buffer, size_t indexCount, Type element) {
  if (indexCount != buffer.getShape().size())
    return fault(op) << "has " << indexCount << " indices into a buffer of rank " << buffer.getShape().size();
  if (element != buffer.getElementType())
    return fault(op) << "accesses " << element << " in a buffer of " << buffer.getElementType();
  return success();
}

/// Vectors of a row change places among as many as there are phases, so a row must hold them.
static LogicalResult verifySwizzle(Operation* op, SmemType buffer, ArrayRef<int32_t> swizzle) {
  if (swizzle.size() != 3 || llvm::any_of(swizzle, [](int32_t n) { return n < 1 || (n & (n - 1)) != 0; }))
    return fault(op) << "has a swizzle that is not three powers of two";
  int64_t row = buffer.getShape().back(), needed = int64_t(swizzle[0]) * swizzle[2];
  if (swizzle[2] == 1 || (buffer.getShape().size() > 1 && row % needed == 0)) return success();
  return fault(op) << "has a swizzle of " << swizzle[2] << " phases of " << swizzle[0] << " elements in rows of "
                   << (buffer.getShape().size() > 1 ? row : 0);
}

LogicalResult SmemAllocOp::verify() {
  if (getSwizzle() && failed(verifySwizzle(*this, smemOf(getResult()), *getSwizzle()))) return failure();
  return getInit() ? verifyWhole(*this, smemOf(getResult()), getInit().getType()) : success();
}
LogicalResult SmemReadOp::verify() { return verifyWhole(*this, smemOf(getBuffer()), getType()); }
LogicalResult SmemLoadOp::verify() { return verifyElement(*this, smemOf(getBuffer()), getIndices().size(), getType()); }
LogicalResult SmemStoreOp::verify() {
  return verifyElement(*this, smemOf(getBuffer()), getIndices().size(), getValue().getType());
}
LogicalResult SmemPtrOp::verify() {
  return verifyElement(*this, smemOf(getBuffer()), getIndices().size(), pointeeOf(getType()));
}

LogicalResult SmemIndexOp::verify() {
  SmemType buffer = smemOf(getBuffer());
  if (buffer.getShape().size() < 2) return fault(*this) << "cannot take a sub-buffer of a buffer of rank 1";
  Type expected = SmemType::get(getContext(), buffer.getShape().drop_front(), buffer.getElementType());
  if (getType() == expected) return success();
  return fault(*this) << "result has type " << getType() << " but its buffer gives " << expected;
}

}  // namespace tandem::simt
