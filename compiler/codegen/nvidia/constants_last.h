// Computes places of elements in the order that keeps few of them in registers.
#pragma once
#include <llvm/IR/Module.h>

namespace tandem::codegen {

// x | (y | 1), x | (y | 2), ... of a loop, where LLVM has hoisted the sums without x out of it, become (x | y) | 1,
// (x | y) | 2, ...: the same work, one value kept over the loop, and constants that ptxas adds in accesses. Sums without
// a carry are marked as such, since LLVM adds a constant in the access only where it sees that.
void putConstantsLast(llvm::Module& module);

}  // namespace tandem::codegen
