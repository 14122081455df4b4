// ProgramAxes say which dimension of each tile of a program is divided among the blocks of its cluster. Dimensions that
// ops hand on to each other are one axis of the program: an axis is divided everywhere or nowhere, so that no block
// needs another's elements. This analysis changes nothing.
#pragma once
#include <llvm/ADT/DenseMap.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <optional>

namespace tandem::transform::gpu {

class ProgramAxes {
 public:
  // `blocks` is a power of two.
  ProgramAxes(mlir::func::FuncOp kernel, int64_t blocks);
  // The dimension of `tile` of which each block holds its part; none: each block holds the whole tile.
  std::optional<unsigned> dividedDim(mlir::Value tile) const;

 private:
  llvm::DenseMap<mlir::Value, unsigned> divided_;
};

}  // namespace tandem::transform::gpu
