// Chooses the unit that does each product of tiles, and how its operands come.
#pragma once
#include "compiler/target/target_info.h"
#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tandem::transform::gpu {

// 1. Loops whose products read blocks of strided tensors get rings in shared memory that an added producer warp fills by TMA while the
//    program's own warps multiply (`tgpu.warp_specialize`).
// 2. Other products that wgmma can do have their operands brought to shared memory, the left one to registers where it is computed in the
//    same block.
// What is left stays `tile.dot`.
void selectProducts(mlir::func::FuncOp kernel, const target::TargetInfo& target);

}  // namespace tandem::transform::gpu
