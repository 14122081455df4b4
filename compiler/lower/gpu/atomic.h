// Atomic updates of elements that a tile holds.
#pragma once
#include "compiler/lower/gpu/kernel.h"

namespace tandem::lower::gpu {

// Gives all threads of the program the first one's `value`. The barrier also orders every thread's later accesses with what the first
// thread has done to memory.
llvm::Value* shareFirst(KernelContext& cx, llvm::Value* value, mlir::Location loc);
// Neighbours of a block store that updates memory.
void reduceElements(KernelContext& cx, mlir::Operation* op, tile::Rmw rmw, llvm::Value* pointer, Scalars values,
                    llvm::Value* predicate);

}  // namespace tandem::lower::gpu
