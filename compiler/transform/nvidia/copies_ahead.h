// The loop that pipeline-loads makes when all is decided.
#pragma once
#include "compiler/transform/nvidia/slot_readers.h"

namespace tandem::transform::nvidia {

// Gives `loop` a ring of `slots` slots, which copies fill for the iteration that is slots - 1 ahead, and reads them
// where the loads were. Loads that addresses need come ahead too; `reasons` has no reason for them then. `sums`, all of
// the loop's products or none, stay under way. The loop is replaced by one that also carries the values from which
// addresses are computed, as they will be some iterations later.
void copyAhead(mlir::scf::ForOp loop, const CopiedLoads& copied, int64_t slots, const SlotSums& sums, Reasons& reasons);

}  // namespace tandem::transform::nvidia
