// Loads of a loop's later iterations by cp.async, while this iteration computes.
#pragma once
#include "compiler/target/target_info.h"
#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tandem::transform::gpu {

// For each loop with products, or that asks for `num_stages`, in kernels without warp roles:
// 1. Chooses the loads that nothing in the loop holds back, whose addresses can be computed ahead, and which memory gives in words.
// 2. Gives them a ring of as many slots as stages were asked for, or as fit; with fewer than two all stays as it is.
// 3. Copies for the first iterations before the loop; in the loop, for the iteration that is slots - 1 ahead, what is beyond the end
//    being left out.
// 4. Reads the slots where the loads were.
// Gives whether anything has changed.
bool pipelineLoads(mlir::func::FuncOp kernel, const target::TargetInfo& target);

}  // namespace tandem::transform::gpu
