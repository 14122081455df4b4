// Runs a loop's products while it computes: an iteration's last product beside the next iteration's first ones.
#pragma once
#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tandem::transform::gpu {

// In a loop with products one of which reads, from registers, what is computed from another's result (attention: P·V after Q·Kᵀ), and which
// only adds to what the loop carries, that last product moves into the next iteration:
//
//   first products and computation of iteration 0
//   for i = 1...:  start the first products of i; finish the last product of i - 2; what it needs (a rescaled sum); start that of i - 1;
//                  await the first products of i; compute i
//   the last product of the last iteration
//
// Runs after selectProducts.
void overlapProducts(mlir::func::FuncOp kernel);

}  // namespace tandem::transform::gpu
