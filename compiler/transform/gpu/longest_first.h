// Which programs start first.
#pragma once
#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tandem::transform::gpu {

// Blocks start in the order of their numbers. Where a loop gets longer with a program's number along an axis (causal attention), the kernel
// gets `tgpu.longest_first` with that axis: blocks then run programs in an order that leaves short ones for the end. Not in kernels whose
// programs may wait for one another: those before a program may have to run for it to end.
//
// Runs when no pass makes a `tile.program_id` any more.
void longestFirst(mlir::func::FuncOp kernel);

}  // namespace tandem::transform::gpu
