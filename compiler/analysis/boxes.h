// The pieces by which the tensor memory accelerator moves a tile, and how these lie in shared memory.
#pragma once
#include "compiler/dialect/tile/tile.h"
#include "compiler/layout/shared.h"
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <optional>

namespace tandem::analysis {

// A tile in shared memory: panels of this swizzle. Nothing: too narrow for one, or no power of two.
std::optional<layout::Swizzle> panelSwizzle(mlir::RankedTensorType tile);
inline int64_t panelBytes(layout::Swizzle swizzle) { return layout::rowBytes(swizzle); }

// A block without its leading dimensions.
mlir::RankedTensorType matrixOf(mlir::RankedTensorType block);
// Returns the box of one TMA copy: a panel of the tile, at most 256 rows.
llvm::SmallVector<int64_t> tmaBox(mlir::RankedTensorType tile);
// Returns the box of one TMA copy when each of `blocks` blocks fetches an equal part of the tile for all; nothing if
// the parts would be too small.
std::optional<llvm::SmallVector<int64_t>> multicastBox(mlir::RankedTensorType tile, int64_t blocks);
// Returns the box of one TMA store: a warpgroup's part of a panel.
llvm::SmallVector<int64_t> tmaStoreBox(mlir::RankedTensorType tile);

// Stores by TMA go through shared memory by panels, of which each group of four warps has its own.
struct StagedPanels {
  int64_t bytes = 0;     // of a panel, the largest; 0: nothing is staged
  int64_t perGroup = 0;  // that the largest store takes of each group
};
StagedPanels stagedPanels(mlir::func::FuncOp kernel, int numWarps,
                          llvm::function_ref<bool(tile::BlockStoreOp)> isStaged);

}  // namespace tandem::analysis
