// One atomic update of one element.
#pragma once
#include "compiler/lower/gpu/kernel.h"

namespace tandem::lower::gpu {

// The number of neighbours that one instruction updates: a power of two, at most `count`.
size_t updatedAtOnce(KernelContext& cx, tile::Rmw rmw, llvm::Type* element, size_t count);
Regs addToNeighbours(KernelContext& cx, llvm::Value* pointer, Scalars values, bool wanted,
                     const AtomicOptions& options);
// Returns the old value, null where it is not `wanted` and the target does without.
llvm::Value* readModifyWrite(KernelContext& cx, mlir::Operation* op, tile::Rmw rmw, llvm::Value* pointer,
                             llvm::Value* value, bool wanted, const AtomicOptions& options);

}  // namespace tandem::lower::gpu
