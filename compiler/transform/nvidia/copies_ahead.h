// The loop that pipeline-loads makes when all is decided.
#pragma once
#include "compiler/transform/nvidia/slot_readers.h"

namespace tandem::transform::nvidia {

struct RingSize {
  int64_t slots, ahead;
  bool refillsBehind() const { return ahead == slots; }
};

// Gives `loop` a ring, which copies fill for the iteration that is `ahead` ahead, and reads its slots where the loads
// were. With as many slots as iterations ahead a slot is filled again behind its iteration, when all threads have read
// it; with one more, when the iteration begins. Loads that addresses need come ahead too; `reasons` has no reason for
// them then. `sums`, all of the loop's products or none, stay under way. The loop is replaced by one that also carries
// the values from which addresses are computed, as they will be some iterations later.
void copyAhead(mlir::scf::ForOp loop, const CopiedLoads& copied, RingSize size, const SlotSums& sums, Reasons& reasons);

// Makes the loads of `slice` one iteration ahead, when an iteration begins or, `duringProducts`, when its products have begun. The
// loop is replaced by one that also carries what they give, which is returned.
mlir::scf::ForOp loadAhead(mlir::scf::ForOp loop, const Slice& slice, Reasons& reasons, bool duringProducts = false);

// Makes products of mma.sync read the tiles that `slice` loads from buffers, where each is stored as soon as it is there: a thread has one
// of them at a time, and of the operands what an instruction takes. Returns true if there is any.
bool readThroughBuffers(mlir::scf::ForOp loop, const Slice& slice);

}  // namespace tandem::transform::nvidia
