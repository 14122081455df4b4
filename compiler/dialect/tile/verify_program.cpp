// Verifiers of the grid's ops and of debugging.
#include "compiler/dialect/tile/type_rules.h"

using namespace mlir;

namespace tandem::tile {

LogicalResult ProgramIdOp::verify() { return verifyAxis(*this, getAxis(), 3); }
LogicalResult NumProgramsOp::verify() { return verifyAxis(*this, getAxis(), 3); }

LogicalResult PrintOp::verify() {
  if (getIsSigned().size() == getValues().size()) return success();
  return fault(*this) << "has " << getValues().size() << " values but " << getIsSigned().size() << " signs";
}

LogicalResult AssertOp::verify() {
  if (!getElementTypeOrSelf(getCondition()).isInteger(1))
    return fault(*this) << "condition has type " << getCondition().getType() << ", not i1";
  return verifyMask(*this, getMask(), getCondition().getType());
}

}  // namespace tandem::tile
