// Verifiers of bulk copies, tensor maps and proxy fences.
#include "compiler/dialect/simt/simt.h"
#include "compiler/dialect/tile/type_rules.h"

using namespace mlir;
using namespace tandem::tile;

namespace tandem::simt {

static LogicalResult verifyCoordinates(Operation* op, OperandRange coordinates) {
  if (coordinates.size() >= 1 && coordinates.size() <= 5) return success();
  return fault(op) << "has " << coordinates.size() << " coordinates, not 1 to 5";
}

LogicalResult TmaLoadOp::verify() { return verifyCoordinates(*this, getCoordinates()); }
LogicalResult TmaStoreOp::verify() { return verifyCoordinates(*this, getCoordinates()); }

static LogicalResult verifyPending(Operation* op, int32_t pending) {
  if (pending >= 0) return success();
  return fault(op) << "waits for all but " << pending << " groups";
}

LogicalResult BulkWaitOp::verify() { return verifyPending(*this, getPending()); }
LogicalResult CopyWaitOp::verify() { return verifyPending(*this, getPending()); }

LogicalResult CopyAsyncOp::verify() {
  int32_t bytes = getBytes();
  if (bytes == 4 || bytes == 8 || bytes == 16) return success();
  return fault(*this) << "copies " << bytes << " bytes, not 4, 8 or 16";
}

static int32_t ordinalsOf(MapField field) {
  switch (field) {
    case MapField::BoxDim:
    case MapField::GlobalDim:
    case MapField::ElementStride: return 5;
    case MapField::GlobalStride: return 4;
    default: return 1;
  }
}

LogicalResult TensormapReplaceOp::verify() {
  int32_t ordinal = getOrdinal(), count = ordinalsOf(getField());
  if (ordinal < 0 || ordinal >= count)
    return fault(*this) << "ordinal " << ordinal << " of `" << stringifyMapField(getField()) << "` is outside 0 to "
                        << count - 1;
  bool isWide = getField() == MapField::GlobalAddress || getField() == MapField::GlobalStride;
  if (!getValue().getType().isInteger(isWide ? 64 : 32))
    return fault(*this) << "value of `" << stringifyMapField(getField()) << "` has type " << getValue().getType()
                        << ", not " << (isWide ? "'i64'" : "'i32'");
  return success();
}

LogicalResult ProxyFenceOp::verify() {
  bool needsMap = getKind() == ProxyFence::TensormapAcquire;
  if (needsMap == bool(getMap())) return success();
  return fault(*this) << "`" << stringifyProxyFence(getKind()) << "` " << (needsMap ? "needs a" : "has no")
                      << " tensor map";
}

}  // namespace tandem::simt
