// Verifiers of thread indices, barriers, lane exchange and per-thread vectors.
#include "compiler/dialect/simt/simt.h"
#include "compiler/dialect/tile/type_rules.h"

using namespace mlir;
using namespace tandem::tile;

namespace tandem::simt {

LogicalResult TidOp::verify() { return verifyAxis(*this, getAxis(), 3); }
LogicalResult NtidOp::verify() { return verifyAxis(*this, getAxis(), 3); }

LogicalResult SpecialOp::verify() {
  if (getType().isInteger(32) || getType().isInteger(64)) return success();
  return fault(*this) << "result has type " << getType() << ", not i32 or i64";
}

LogicalResult NamedBarrierOp::verify() {
  int32_t id = getId(), threads = getThreads();
  if (id < 0 || id > 15) return fault(*this) << "has id " << id << ", outside 0 to 15";
  if (threads < 32 || threads > 1024 || threads % 32 != 0)
    return fault(*this) << "is for " << threads << " threads, not a multiple of 32 up to 1024";
  return success();
}

LogicalResult FenceOp::verify() {
  if (getSem() != Semantic::Relaxed) return success();
  return fault(*this) << "cannot have order `relaxed`; it is `acquire`, `release`, `acq_rel` or `sc`";
}

LogicalResult ShuffleOp::verify() {
  Type value = getValue().getType();
  if (!value.isIntOrFloat() || value.getIntOrFloatBitWidth() != 32)
    return fault(*this) << "value has type " << value << ", not 32 bits";
  if (value != getType()) return fault(*this) << "takes " << value << " and gives " << getType();
  return success();
}

LogicalResult VectorOp::verify() {
  auto vector = cast<VectorType>(getType());
  if (vector.getRank() != 1 || vector.getDimSize(0) != int64_t(getElements().size()))
    return fault(*this) << "has " << getElements().size() << " elements but its result has type " << vector;
  for (Type element : getElements().getTypes())
    if (element != vector.getElementType())
      return fault(*this) << "has an element of type " << element << " in a vector of " << vector.getElementType();
  return success();
}

LogicalResult VectorExtractOp::verify() {
  auto vector = cast<VectorType>(getVector().getType());
  if (vector.getRank() != 1) return fault(*this) << "vector has rank " << vector.getRank() << ", not 1";
  int32_t index = getIndex();
  if (index < 0 || index >= vector.getDimSize(0))
    return fault(*this) << "index " << index << " is outside 0 to " << vector.getDimSize(0) - 1;
  if (getType() != vector.getElementType())
    return fault(*this) << "gives " << getType() << " from a vector of " << vector.getElementType();
  return success();
}

static int64_t bitsOf(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (isa<RankedTensorType>(type) || !element.isIntOrFloat()) return -1;
  int64_t count = 1;
  for (int64_t size : shapeOf(type)) count *= size;
  return count * element.getIntOrFloatBitWidth();
}

LogicalResult VectorBitcastOp::verify() {
  int64_t from = bitsOf(getSource().getType()), to = bitsOf(getType());
  if (from < 0 || to < 0)
    return fault(*this) << "cannot turn " << getSource().getType() << " into " << getType()
                        << "; both are numbers or vectors of them";
  if (from != to) return fault(*this) << "has " << from << " bits and gives " << to;
  return success();
}

}  // namespace tandem::simt
