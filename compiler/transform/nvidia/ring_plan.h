// What select-products plans to load through one ring, and which plans take turns.
#pragma once
#include "compiler/dialect/tile/tile.h"
#include <mlir/Dialect/SCF/IR/SCF.h>

namespace tandem::transform::nvidia {

// Loads that one ring serves: they are in one block and the same products read them.
struct RingPlan {
  llvm::SmallVector<tile::BlockLoadOp> loads;
  llvm::SmallVector<tile::DotOp> dots;  // in the order of the program
  // of the loads and products. Null: the products are in loops behind the loads, and there is one slot
  mlir::scf::ForOp loop;
  int64_t bytes = 0, slots = 1;
  int owner = -1;  // the plan whose ring and buffers these are; another loop's, which has ended, or its own
  mlir::Value ring;
  llvm::SmallVector<mlir::Value> buffers;  // one a load
};

// or the same
inline bool isNested(mlir::scf::ForOp a, mlir::scf::ForOp b) { return a->isAncestor(b) || b->isAncestor(a); }

// Returns true if one plan's last read of a slot comes before the other's first fill.
bool areInTurn(const RingPlan& a, const RingPlan& b);

// Gives `into` the loads and products of `other` too; both are of one loop.
void join(RingPlan& into, const RingPlan& other);

llvm::SmallVector<mlir::RankedTensorType> typesOf(const RingPlan& plan);

}  // namespace tandem::transform::nvidia
