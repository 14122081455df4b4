// Thread barriers that keep a program's accesses to global memory in order (rule M1).
#pragma once
#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tandem::transform::gpu {

// Puts `simt.barrier` before a tile access that may touch, through other threads, what an earlier one wrote (or, if it writes itself,
// read). Runs when layouts are known: what one thread writes and the same thread reads needs none. Different parameters are taken to be
// different memory, but for reads after writes. A barrier after which stores of the asynchronous unit must be complete has
// `tgpu.completes_bulk`.
void insertBarriers(mlir::func::FuncOp kernel);

}  // namespace tandem::transform::gpu
