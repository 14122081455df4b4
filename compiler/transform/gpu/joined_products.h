// Products that the instructions of another compute as well, side by side, and sums that begin at zero. Knows nothing of rings.
#pragma once
#include "compiler/dialect/tgpu/tgpu.h"

namespace tandem::transform::gpu {

// Whether `dot` can be more columns of `before`: of one left operand, and their right ones could be rows of one panel. `all`: the loop's
// products.
bool canJoin(tile::DotOp before, tile::DotOp dot, llvm::ArrayRef<tile::DotOp> all, int numWarps);

// The product and those behind it that its instructions compute as well; nothing when it is such a one itself.
llvm::SmallVector<tgpu::WgmmaOp> withJoined(tgpu::WgmmaOp op);

// Whether the loop that carries the sum runs once at least and its first product overwrites what the sum was.
bool beginsAtZero(mlir::Value carried);

}  // namespace tandem::transform::gpu
