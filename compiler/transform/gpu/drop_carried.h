// Loops may carry values that nothing uses; this removes them.
#pragma once
#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tandem::transform::gpu {

// A loop that carries values, pointers above all, only to move them on carries the first ones instead, which
// canonicalisation removes.
void dropCarried(mlir::func::FuncOp kernel);

}  // namespace tandem::transform::gpu
