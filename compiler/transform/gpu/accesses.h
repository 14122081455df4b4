// Which of a kernel's arguments its accesses go through, and what may not change places with an access that moves.
#pragma once
#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tandem::transform::gpu {

// The kernel's argument that a pointer, or every pointer of a tile, is computed from; null when that is not known.
mlir::BlockArgument argumentBehind(mlir::Value pointer);

// Whether `load`, which reads through the argument `base`, may run ahead of everything before it and of the loops around it: nothing there
// may write through `base` or an unknown pointer, and nothing may wait for somebody else's writes. Other arguments do not overlap `base`.
bool mayRunAhead(mlir::Operation* load, mlir::BlockArgument base);

// Whether nothing else in the kernel touches memory through the argument `base` of `store` or depends on when its writes are done.
bool isOnlyAccess(mlir::Operation* store, mlir::BlockArgument base);

}  // namespace tandem::transform::gpu
