// A target's own units, such as its matrix units, say here which layouts they want. A target whose units the compiler does not use
// needs none of it.
#pragma once
#include "compiler/dialect/tile/tile.h"
#include "compiler/layout/linear_layout.h"
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <optional>

namespace tandem::analysis {
class AxisInfoAnalysis;
}

namespace tandem::transform::gpu {

class Units {
 public:
  explicit Units(int64_t lanes) : lanes_(lanes) {}
  virtual ~Units() = default;

  int64_t lanes() const { return lanes_; }  // of a warp

  struct Anchors {
    std::optional<layout::LinearLayout> result;  // of the op's only tile; nothing: as it comes
    llvm::SmallVector<std::pair<mlir::OpOperand*, layout::LinearLayout>, 2> operands;
  };
  // Returns the layouts of an op that a unit executes, and leaves at the op what its lowering has to know. Nothing: no
  // unit executes it.
  virtual std::optional<Anchors> anchorsOf(mlir::Operation*, int numWarps) const { return std::nullopt; }
  // Returns the layout that the operand must have where it turns out to have `layout()`; nothing: that one will do.
  virtual std::optional<layout::LinearLayout> required(mlir::OpOperand&,
                                                       llvm::function_ref<const layout::LinearLayout&()> layout,
                                                       int numWarps) const {
    return std::nullopt;
  }
  // Returns true if a unit can store this block from some layouts.
  virtual bool mayStore(tile::BlockStoreOp) const { return false; }
  // Returns true if a unit stores the block, whose value has `layout`, and leaves at the op what its lowering has to
  // know.
  virtual bool takeStore(tile::BlockStoreOp, const layout::LinearLayout& layout,
                         const analysis::AxisInfoAnalysis&) const {
    return false;
  }

 private:
  int64_t lanes_;
};

// Gives every tile of the kernel a layout over the threads, as the pass assign-thread-layouts describes it.
// Fails for a function with a tile among its parameters, which no kernel has.
mlir::LogicalResult assignLayouts(mlir::func::FuncOp kernel, const Units& units);

}  // namespace tandem::transform::gpu
