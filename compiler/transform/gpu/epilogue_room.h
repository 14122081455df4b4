// Beside the slots of rings some shared memory is kept for the ops on products behind their loops; this counts it.
#pragma once
#include "compiler/dialect/tile/tile.h"
#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tandem::transform::gpu {

// Stores by TMA go through shared memory by panels, of which each group of four warps has its own.
struct StagedPanels {
  int64_t bytes = 0;     // of a panel, the largest; 0: nothing is staged
  int64_t perGroup = 0;  // that the largest store takes of each group
};
StagedPanels stagedPanels(mlir::func::FuncOp kernel, int numWarps,
                          llvm::function_ref<bool(tile::BlockStoreOp)> isStaged);

// Room for two panels a group, or the one that it stores; where more happens to tiles than that `products` are stored, for exchanges too.
int64_t epilogueBytes(mlir::func::FuncOp kernel, llvm::ArrayRef<tile::DotOp> products, int numWarps);

}  // namespace tandem::transform::gpu
