// A tile that is computed element by element of positions, scalars and loads can be computed anew for some of its
// positions along one dimension.
#pragma once
#include "compiler/dialect/tile/tile.h"
#include <functional>
#include <llvm/ADT/MapVector.h>
#include <mlir/IR/IRMapping.h>

namespace tandem::transform::gpu {

// Returns true if each element of the op's only result is computed of its operands' elements at the same place.
bool isElementwise(mlir::Operation* op);

class PartOfTile {
 public:
  // `isTaken` says which ops may be computed anew, of those that work element by element, and of loads.
  explicit PartOfTile(std::function<bool(mlir::Operation*)> isTaken) : isTaken_(std::move(isTaken)) {}

  // Returns true if any part of the tile along `dim` can be computed, and notes the ops that compute it.
  bool take(mlir::Value tile, unsigned dim);
  // The same of all tiles among the operands.
  bool takeOperands(mlir::Operation* op, unsigned dim);

  // The ops to compute anew, and the dimension of each one's tile in which positions are chosen.
  const llvm::MapVector<mlir::Operation*, unsigned>& ops() const { return dims_; }

  // Returns the positions of the part: `type` has the part's size, and `range` those of the whole tile.
  using Positions = llvm::function_ref<mlir::Value(tile::MakeRangeOp range, mlir::RankedTensorType type)>;
  // Makes the part of the tile, with its size divided by `divisor`. What `made` holds is not made again.
  mlir::Value make(mlir::Value tile, int64_t divisor, mlir::OpBuilder& builder, Positions positions,
                   mlir::IRMapping& made) const;

 private:
  std::function<bool(mlir::Operation*)> isTaken_;
  llvm::MapVector<mlir::Operation*, unsigned> dims_;
};

}  // namespace tandem::transform::gpu
