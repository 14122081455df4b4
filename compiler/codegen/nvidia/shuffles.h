// Keeps ptxas quick on long runs of shuffles.
#pragma once
#include <llvm/IR/Module.h>

namespace tandem::codegen {

// Puts a barrier of the warp after every 128 shuffles of a basic block that are for a whole warp: there all its threads
// are together. ptxas begins a new block at the barrier; its work for each shuffle grows with the shuffles of the
// block, so this keeps it short.
void divideShuffles(llvm::Module& module);

}  // namespace tandem::codegen
