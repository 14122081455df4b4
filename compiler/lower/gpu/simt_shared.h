// Shared-memory buffers of per-thread code.
#pragma once
#include "compiler/lower/gpu/kernel.h"

namespace tandem::lower::gpu {

// Gives each buffer of the kernel its place.
void allocateSmem(KernelContext& cx, mlir::func::FuncOp kernel);
// Pointers of kernels are generic; these instructions want shared ones.
llvm::Value* fromGeneric(KernelContext& cx, llvm::Value* pointer);
// The place in shared memory that a pointer to an element of the kernel's own buffer was made of; null for other pointers.
llvm::Value* ownShared(KernelContext& cx, mlir::Value pointer);

}  // namespace tandem::lower::gpu
