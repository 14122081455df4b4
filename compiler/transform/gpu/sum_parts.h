// Sums behind stores: what a store writes of this rank's own share of memory that leaves gets the peers' parts added.
#pragma once
#include "compiler/dialect/dist/dist.h"
#include "compiler/transform/gpu/travelling.h"

namespace tandem::transform::gpu {

// Fails, at the line of the first that is something else, unless all accesses are stores that run at most once and side by side, of numbers
// that can be added.
mlir::LogicalResult checkSums(dist::LeavingOp memory, llvm::ArrayRef<TravellingAccess> accesses);

// Adds the peers' parts, in the order of ranks, to what a store has stored, if all elements of `range`, which it touches at most, are in
// this rank's share.
void addParts(dist::LeavingOp memory, mlir::Operation* store, const ElementRange& range);

// Adds 1 for each element that the store writes to `memory`'s parts, which are counts here, i32. Returns the op that does; null: loaded
// values decide which elements are written, or these are updated.
mlir::Operation* markWritten(dist::LeavingOp memory, mlir::Operation* store);

}  // namespace tandem::transform::gpu
