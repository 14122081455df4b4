// Loops as an assembler recognises them.
#pragma once
#include <llvm/IR/Module.h>

namespace tandem::codegen {

// The last branch of a loop leads back where its condition holds, and out where it does not: ptxas unrolls no loop that is left by a
// branch and repeated by another one behind it, which is how the backend prints the opposite condition where a loop's end is met from
// elsewhere, too.
void endLoopsByRepeating(llvm::Module& module);

}  // namespace tandem::codegen
