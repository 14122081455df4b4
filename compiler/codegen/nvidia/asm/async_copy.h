// Asynchronous copies by threads: cp.async from global to shared memory (sm_80 and later).
#pragma once
#include "compiler/codegen/nvidia/asm/call.h"

namespace tandem::codegen::ptx {

// Copies `bytes` (4, 8 or 16). `read`: null for all; an i32, how many of the first ones are read; or an i1, whether any are. The rest
// becomes zero. Copies of 16 bytes bypass L1.
void copyAsync(llvm::IRBuilderBase& b, llvm::Value* shared, llvm::Value* global, int bytes, llvm::Value* read = nullptr,
               llvm::Value* predicate = nullptr);
void commitCopies(llvm::IRBuilderBase& b);
// Waits until at most `pending` groups of this thread are under way.
void waitCopies(llvm::IRBuilderBase& b, int pending);

}  // namespace tandem::codegen::ptx
