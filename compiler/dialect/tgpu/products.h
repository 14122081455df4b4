// Asynchronous products that the instructions of another compute as well, side by side, and sums that begin at zero:
// what `joinsPrevious` and `beginsAtZero` of tgpu.wgmma say. Operands of other products that lie in slots.
#pragma once
#include "compiler/dialect/tgpu/tgpu.h"

namespace tandem::tgpu {

// Returns the product and those behind it that its instructions compute as well; nothing if another product's
// instructions compute this one.
llvm::SmallVector<WgmmaOp> withJoined(WgmmaOp op);

// Returns true if the loop that carries the sum runs at least once and its first product overwrites the sum.
bool beginsAtZero(mlir::Value carried);

// An operand of a product, of the type that it sums, which lies in a slot that the block's threads have filled, or whose transpose
// does.
struct SlotOperand {
  LocalLoadOp load;
  bool transposed = false;
};
std::optional<SlotOperand> slotOperand(tile::DotOp dot, bool isLhs);

}  // namespace tandem::tgpu
