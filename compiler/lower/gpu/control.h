// Loops and branches.
#pragma once
#include "compiler/lower/gpu/kernel.h"

namespace tandem::lower::gpu {

// `isUnread`: which of the values that the loop carries nobody reads as they begin; null: none.
void lowerFor(KernelContext& cx, mlir::scf::ForOp op, llvm::function_ref<bool(mlir::Value)> isUnread = nullptr);

}  // namespace tandem::lower::gpu
