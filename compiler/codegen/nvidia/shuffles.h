// Keeps ptxas quick on long runs of shuffles.
#pragma once
#include <llvm/IR/Module.h>

namespace tandem::codegen {

// Puts a barrier of the warp after every 128 shuffles of a basic block that are for a whole warp: there all its threads are together.
// ptxas begins a new block at the barrier, so that what it does for each shuffle with all shuffles of the block stays short.
void divideShuffles(llvm::Module& module);

}  // namespace tandem::codegen
