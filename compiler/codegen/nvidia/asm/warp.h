// The threads of a warp do these operations together. Masks are i32; null means all 32 lanes, which must then all be
// here.
#pragma once
#include "compiler/codegen/nvidia/asm/call.h"

namespace tandem::codegen::ptx {

using codegen::Shuffle;
// `value` of 8 to 64 bits from the lane that `lane` (i32) says; `width` lanes (a power of two) exchange among
// themselves.
llvm::Value* shuffle(llvm::IRBuilderBase& b, Shuffle mode, llvm::Value* value, llvm::Value* lane, int width = 32,
                     llvm::Value* mask = nullptr);

// i32 over the lanes of the mask, sm_80.
using codegen::WarpReduction;
llvm::Value* reduceWarp(llvm::IRBuilderBase& b, WarpReduction op, llvm::Value* value, llvm::Value* mask = nullptr);

llvm::Value* ballot(llvm::IRBuilderBase& b, llvm::Value* predicate, llvm::Value* mask = nullptr);  // i32
llvm::Value* activeMask(llvm::IRBuilderBase& b);
void syncWarp(llvm::IRBuilderBase& b, llvm::Value* mask = nullptr);

}  // namespace tandem::codegen::ptx
