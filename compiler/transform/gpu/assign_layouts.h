// Gives every tile of a kernel a layout.
#pragma once
#include "compiler/target/target_info.h"
#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tandem::transform::gpu {

// 1. Anchors: products take the layout of their instruction, memory accesses the one that coalesces.
// 2. From anchors layouts spread, forwards and backwards, through ops that move no data; products first, then loads, then stores.
// 3. What nothing reaches gets a default.
// 4. Where an op needs an operand in another layout than it has, cheap operands are computed again, others converted.
void assignLayouts(mlir::func::FuncOp kernel, const target::TargetInfo& target);

}  // namespace tandem::transform::gpu
