// Products that the instructions of another compute as well, side by side, and sums that begin at zero. Knows nothing of rings.
#pragma once
#include "compiler/dialect/tgpu/tgpu.h"

namespace tandem::transform::gpu {

// Returns true if `dot` can be more columns of `before`: both have one left operand, and their right ones could be rows
// of one panel. `all`: the loop's products.
bool canJoin(tile::DotOp before, tile::DotOp dot, llvm::ArrayRef<tile::DotOp> all, int numWarps);

// Returns the product and those behind it that its instructions compute as well; nothing if another product's
// instructions compute this one.
llvm::SmallVector<tgpu::WgmmaOp> withJoined(tgpu::WgmmaOp op);

// Returns true if the loop that carries the sum runs at least once and its first product overwrites the sum.
bool beginsAtZero(mlir::Value carried);

}  // namespace tandem::transform::gpu
