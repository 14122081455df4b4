// Runs a loop's products while it computes: an iteration's last product beside the next iteration's first ones.
#pragma once
#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tandem::transform::gpu {

// In a loop with products one of which reads, from registers, what is computed from another's result (attention: P·V after Q·Kᵀ), and which
// only adds to what the loop carries, that last product moves into the next iteration:
//
//   first products and computation of iteration 0
//   for i = 1...:  start the first products of i, then the last one of i - 1; await the first; compute i; await the last one, rescale
//   the last product of the last iteration
//
// What makes the left operand of float32 (P) comes after the wait for the last product, which reads the one before from registers.
//
// The first product of an iteration has `tgpu.takes_turn`, the last `tgpu.gives_turn`: warpgroups start their products in turn, in pairs,
// so that one computes while the other multiplies. Where exponentials take at least as long as the products, the wait for the first product
// has `tgpu.gives_turn` instead, so that the exponentials of the two fall less into one another.
//
// Runs after selectProducts.
void overlapProducts(mlir::func::FuncOp kernel);

}  // namespace tandem::transform::gpu
