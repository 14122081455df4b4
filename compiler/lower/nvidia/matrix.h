// stmatrix and ldmatrix: 8x8 matrices of 16-bit words between registers and shared memory.
#pragma once
#include "compiler/lower/nvidia/kernel.h"

namespace tandem::lower::nvidia {

// `layout` has offsets in elements from `base` for positions.
void storeMatrices(KernelContext& cx, llvm::Value* base, const LinearLayout& layout, Scalars source, unsigned bits,
                   bool transposed);
void loadMatrices(KernelContext& cx, llvm::Value* base, const LinearLayout& layout,
                  llvm::MutableArrayRef<llvm::Value*> result, unsigned bits, bool transposed);
// The registers to where `placed` has them, by stmatrix where that fits, else as many bytes at once as lie side by side.
void storePlaced(KernelContext& cx, llvm::Value* base, const LinearLayout& placed, const Regs& regs, unsigned bits);

}  // namespace tandem::lower::nvidia
