// Operands of products in shared memory: which tiles wgmma reads, how they are laid out, which loads TMA can do.
#pragma once
#include "compiler/dialect/tgpu/tgpu.h"
#include "compiler/layout/shared.h"
#include "compiler/target/target_info.h"

namespace tandem::analysis {
class AxisInfoAnalysis;
}

namespace tandem::transform::gpu {

// Returns true if wgmma does this product, if its operands are where it wants them.
bool fitsWgmma(tile::DotOp dot, int numWarps, const target::TargetInfo& target);

// A tile in shared memory: panels of this swizzle. Nothing: too narrow for one, or no power of two.
std::optional<layout::Swizzle> panelSwizzle(mlir::RankedTensorType tile);
inline int64_t panelBytes(layout::Swizzle swizzle) { return layout::rowBytes(swizzle); }

// A dot operand that is the tile `source` as it lies in memory, or its transpose.
struct OperandSource {
  mlir::Value source;
  bool transposed = false;
};
OperandSource throughTranspose(mlir::Value operand);
// The block load that gives `tile`, perhaps with dimensions of size 1 in front that a reshape drops. Null: something else does.
tile::BlockLoadOp blockLoadBehind(mlir::Value tile);
// Returns true if wgmma reads this operand from shared memory when it is stored as `source` is.
bool readsFromShared(tile::DotOp dot, bool isLhs, const OperandSource& operand);

// Returns true if the launcher can make the tensor map of this access and TMA can do it.
bool fitsTma(tile::BlockLoadOp load);
bool fitsTma(tile::BlockStoreOp store);
// A block without its leading dimensions.
mlir::RankedTensorType matrixOf(mlir::RankedTensorType block);
// Returns the box of one TMA copy: a panel of the tile, at most 256 rows.
llvm::SmallVector<int64_t> tmaBox(mlir::RankedTensorType tile);
// Returns the box of one TMA copy when each of `blocks` blocks fetches an equal part of the tile for all; nothing if
// the parts would be too small.
std::optional<llvm::SmallVector<int64_t>> multicastBox(mlir::RankedTensorType tile, int64_t blocks);
// Returns the box of one TMA store: a warpgroup's part of a panel.
llvm::SmallVector<int64_t> tmaStoreBox(mlir::RankedTensorType tile);

// An offset that the program has to check when it runs: TMA stores nothing from a negative coordinate, nor from within
// 16 bytes of a row.
struct UncertainOffset {
  mlir::Value offset;
  int64_t multiple;  // whether it is a multiple of this; 1: whether it is negative
};
llvm::SmallVector<UncertainOffset> uncertainOffsets(tile::BlockStoreOp store, const analysis::AxisInfoAnalysis& axes);

}  // namespace tandem::transform::gpu
