// Tiles come into the layouts that their users need where that costs least: the tile itself changes layout, or what it
// is computed from does, before that is converted to wider elements or repeated over a larger tile, and the ops between
// are done again.
#pragma once
#include "compiler/layout/linear_layout.h"
#include <llvm/ADT/DenseMap.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/Dominance.h>
#include <optional>
#include <vector>

namespace tandem::transform::gpu {

// Returns true if the tile is cheap to compute again in any layout: all that it is made of is, or is repeated so many
// times over that it is best brought into a layout before.
bool isCheapTree(mlir::Value tile, int depth = 0);
// Returns true for a division of tiles, or its remainder, by what is no constant: tens of instructions.
bool dividesByVariable(mlir::Operation* op);

// The cost of a tile's way from one layout to another, in quarter cycles of a multiprocessor for each warp.
int64_t conversionCost(mlir::Type tile, const layout::LinearLayout& from, const layout::LinearLayout& to);

// The layouts of a kernel's tiles are known when this is made. It stays valid while only it adds ops.
class LayoutChange {
 public:
  explicit LayoutChange(mlir::func::FuncOp kernel) : dominance_(kernel) {}

  // Returns `tile` in `layout`, for `user` and what it dominates.
  mlir::Value bring(mlir::Value tile, const layout::LinearLayout& layout, mlir::Operation* user);
  // Divisions by what is no constant that are done again, and the first ones.
  llvm::ArrayRef<std::pair<mlir::Operation*, mlir::Operation*>> divisions() const { return divisions_; }

 private:
  using LinearLayout = layout::LinearLayout;

  // One tile in one layout before one op, as it might be had. `parts` are the plans that it needs, itself among them,
  // each once.
  struct Plan {
    mlir::Value tile;
    LinearLayout layout;
    mlir::Operation* place;
    int64_t cost = 0;  // of this step alone
    bool again = false;
    llvm::SmallVector<unsigned> parts = {};
    mlir::Value made = nullptr;
  };

  unsigned plan(mlir::Value tile, const LinearLayout& layout, mlir::Operation* place);
  std::optional<llvm::SmallVector<unsigned>> planAgain(unsigned index);
  int64_t share(const Plan& plan) const;
  int64_t total(llvm::ArrayRef<unsigned> parts) const;
  bool isForOthers(llvm::ArrayRef<unsigned> parts) const;
  mlir::Value known(mlir::Value tile, const LinearLayout& layout, mlir::Operation* place) const;
  mlir::Value make(unsigned index);

  mlir::DominanceInfo dominance_;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value, 2>> converted_;  // by the tile that they come from
  std::vector<Plan> plans_;                                                   // of the request under way
  llvm::SmallVector<std::pair<mlir::Operation*, mlir::Operation*>> divisions_;
};

}  // namespace tandem::transform::gpu
