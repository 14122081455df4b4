// Numbers of 16 bits, two of which a word holds and an instruction computes at once.
#pragma once
#include "compiler/lower/gpu/kernel.h"

namespace tandem::lower::gpu {

// The word that holds two numbers as its halves, in order, or null.
llvm::Value* wordOf(Scalars pair);

// The vector of two numbers of one type.
llvm::Value* vectorOfPair(KernelContext& cx, Scalars pair);

// Defines the result of `op` on 16-bit floats by `compute` of vectors of two, where an operand has each two in one word.
// Returns false if there are none.
bool inPairs(KernelContext& cx, mlir::Operation* op, llvm::function_ref<llvm::Value*(Scalars vectors)> compute);

}  // namespace tandem::lower::gpu
