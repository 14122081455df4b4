// Tiles in shared memory.
#pragma once
#include "compiler/lower/gpu/kernel.h"

namespace tandem::lower::gpu {

// A tile where `offsets` says.
void storeTile(KernelContext& cx, llvm::Value* base, const LinearLayout& layout, const LinearLayout& offsets,
               const Regs& regs);
// A tile in row-major order.
void storeRowMajor(KernelContext& cx, llvm::Value* base, const LinearLayout& layout, const Regs& regs);

}  // namespace tandem::lower::gpu
