// Asynchronous products that the instructions of another compute as well, side by side, and sums that begin at zero:
// what `joinsPrevious` and `beginsAtZero` of tgpu.wgmma say.
#pragma once
#include "compiler/dialect/tgpu/tgpu.h"

namespace tandem::tgpu {

// Returns the product and those behind it that its instructions compute as well; nothing if another product's
// instructions compute this one.
llvm::SmallVector<WgmmaOp> withJoined(WgmmaOp op);

// Returns true if the loop that carries the sum runs at least once and its first product overwrites the sum.
bool beginsAtZero(mlir::Value carried);

}  // namespace tandem::tgpu
