// These verifiers of the dialect `dist` check the types of signals and the orders of waits.
#include "compiler/dialect/dist/dist.h"
#include "compiler/dialect/tile/type_rules.h"

using namespace mlir;
using namespace tandem::tile;

namespace tandem::dist {

LogicalResult MulticastAtOp::verify() {
  if (getPointer().getType() == getType()) return success();
  return fault(*this) << "gives " << getType() << " for a pointer of type " << getPointer().getType();
}

// The word that a wait polls may be narrower than one that signal operations update.
static LogicalResult verifyPolled(Operation* op, Type pointer) {
  Type signal = pointeeOf(pointer);
  if (signal.isInteger(32) || signal.isInteger(64)) return success();
  return fault(op) << "signal has type " << signal << ", not i32 or i64";
}

LogicalResult WaitOp::verify() {
  if (failed(verifyPolled(*this, getPointer().getType()))) return failure();
  Type signal = pointeeOf(getPointer().getType()), value = getValue().getType();
  if (signal != value)
    return fault(*this) << "compares a signal of type " << signal << " with a value of type " << value;
  if (getSem() == Semantic::Release) return fault(*this) << "only reads; `release` orders writes";
  return success();
}

LogicalResult ArrivingOp::verify() {
  if (getSlices().empty() || getSlices().size() == 2) return success();
  return fault(*this) << "has " << getSlices().size()
                      << " numbers of slices: the elements of a row and those of a slice are needed";
}

LogicalResult LeavingOp::verify() {
  if (!getParts()) return success();
  if (getCounted()) {
    if (pointeeOf(getParts().getType()).isInteger(32)) return success();
    return fault(*this) << "counts what is stored in " << getParts().getType() << ", not in i32";
  }
  if (!getReady() || !getBands()) return fault(*this) << "has parts, but no words that say when they are there";
  // These words in the place of parts: of two ranks the other's part comes to the memory itself.
  if (getParts() == getReady() || getParts().getType() == getValue().getType()) return success();
  return fault(*this) << "adds parts of type " << getParts().getType() << " to " << getValue().getType();
}

LogicalResult NotifyOp::verify() { return verifySignal(*this, getPointer().getType()); }
LogicalResult PutSignalOp::verify() { return verifySignal(*this, getSignalPointer().getType()); }
LogicalResult SignalOp::verify() { return verifySignal(*this, getPointer().getType()); }
LogicalResult SignalWaitOp::verify() { return verifyPolled(*this, getPointer().getType()); }

LogicalResult PutValueOp::verify() { return verifyPointed(*this, getDest().getType(), getValue().getType(), "value"); }

}  // namespace tandem::dist
