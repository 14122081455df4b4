// Accesses to global memory.
#pragma once
#include "compiler/layout/access.h"
#include "compiler/lower/gpu/kernel.h"

namespace tandem::lower::gpu {

AccessOptions accessOptions(tile::Cache cache, tile::Evict evict);
// Returns the number of neighbours that an access through pointers may take at once.
size_t accessLength(mlir::Operation* op, const LinearLayout& layout, unsigned bits);
// Returns the type of an element in memory: booleans are bytes, addresses are integers.
llvm::Type* memoryType(KernelContext& cx, llvm::Type* element);
// Loads or stores neighbouring elements in one access; `other` may be empty.
Regs loadVector(KernelContext& cx, llvm::Type* element, size_t count, llvm::Value* pointer, llvm::Value* predicate,
                Scalars other, const AccessOptions& options);
void storeVector(KernelContext& cx, Scalars values, llvm::Value* pointer, llvm::Value* predicate,
                 const AccessOptions& options);
// Emits the scalar stores that are pending.
void flushScalarStores(KernelContext& cx);

}  // namespace tandem::lower::gpu
