// Beside the slots of rings some shared memory is kept for the ops on products behind their loops; this counts it.
#pragma once
#include "compiler/dialect/tile/tile.h"
#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tandem::transform::nvidia {

// Room for two panels a group, or the one that it stores; where more happens to tiles than that `products` are stored,
// for exchanges too.
int64_t epilogueBytes(mlir::func::FuncOp kernel, llvm::ArrayRef<tile::DotOp> products, int numWarps);

}  // namespace tandem::transform::nvidia
