// Products that the instructions of another can compute as well, side by side. Knows nothing of rings.
#pragma once
#include "compiler/dialect/tgpu/tgpu.h"

namespace tandem::transform::nvidia {

// Returns true if `dot` can be more columns of `before`: both have one left operand, and their right ones could be rows
// of one panel. `all`: the loop's products.
bool canJoin(tile::DotOp before, tile::DotOp dot, llvm::ArrayRef<tile::DotOp> all, int numWarps);

}  // namespace tandem::transform::nvidia
