// The second decision of pipeline-loads: which products read slots themselves, and which of these stay under way.
#pragma once
#include "compiler/transform/nvidia/copied_loads.h"

namespace tandem::transform::nvidia {

// Returns the buffers that hold the tile of `copied` for products of its loop alone, which can read the slot instead.
llvm::SmallVector<Feed> feedsOf(const CopiedLoad& copied);
// Returns true if a load feeds the buffer, which the slots replace.
bool isFeed(tgpu::AllocOp buffer, llvm::ArrayRef<CopiedLoad> loads);
// Returns true if each group of `numWarps` warps alone multiplies its part of what is copied, the rows of left operands.
bool areOfGroups(llvm::ArrayRef<CopiedLoad> loads, int numWarps);
// Lets the products of the load's feeds read `slots`, the buffer of `ring`; the feeds go.
void readSlots(const CopiedLoad& copied, mlir::Value slots, mlir::Value ring);

// Products that only add to what the loop carries, of slots or of left operands in registers: none is waited for before
// the next iteration's, or before that one has computed its left operands.
struct SlotSums {
  llvm::SmallVector<tgpu::WgmmaWaitOp> waits;
  llvm::SmallSetVector<mlir::Value, 2> rings;  // that a producer fills with the other operands
  bool haveComputed = false;                   // left operands of theirs in registers
};
// Returns no sums if one of the loop's products is none.
SlotSums findSums(mlir::scf::ForOp loop, llvm::ArrayRef<CopiedLoad> loads);
// Keeps each iteration's products under way while the next one's start.
void keepUnderWay(mlir::scf::ForOp loop, SlotSums sums);

}  // namespace tandem::transform::nvidia
