// Some loads may be performed before waits of their program: those of products that a wait's token does not reach (M7).
// This header finds them.
#pragma once
#include "compiler/lower/sim/locations.h"
#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tandem::lower {

// The loads are sorted by location, as Program keeps them.
std::vector<interpreter::EarlyLoad> findEarlyLoads(mlir::func::FuncOp kernel, Locations& locations);

}  // namespace tandem::lower
