// Puts loads where an assembler starts them together.
#pragma once
#include <llvm/IR/Module.h>

namespace tandem::codegen {

// Between two instructions that must keep their place, loads of global memory and what their addresses are computed from
// go ahead of everything else, so that all are on their way when the first value is used: ptxas begins with the order that
// it finds, and leaves loads apart that it meets apart.
void putLoadsFirst(llvm::Module& module);

}  // namespace tandem::codegen
