// The first decision of select-products: which loads come through rings, and which of these share one.
#pragma once
#include "compiler/transform/nvidia/ring_plan.h"

namespace tandem::transform::nvidia {

// Plans rings for the blocks that `dots`, products of wgmma in the program's order, read and that TMA can copy. Each
// plan has its owner, and no number of slots yet.
RingPlans planRings(llvm::ArrayRef<tile::DotOp> dots);

}  // namespace tandem::transform::nvidia
