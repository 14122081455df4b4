// Atomic updates of elements that a tile holds.
#pragma once
#include "compiler/lower/gpu/kernel.h"

namespace tandem::lower::gpu {

// Neighbours of a block store that updates memory.
void reduceElements(KernelContext& cx, mlir::Operation* op, tile::Rmw rmw, llvm::Value* pointer, Scalars values,
                    llvm::Value* predicate);

}  // namespace tandem::lower::gpu
