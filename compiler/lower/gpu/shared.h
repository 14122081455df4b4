// Tiles in shared memory.
#pragma once
#include "compiler/lower/gpu/kernel.h"

namespace tandem::lower::gpu {

// A tile in row-major order.
void storeRowMajor(KernelContext& cx, llvm::Value* base, const LinearLayout& layout, const Regs& regs);

}  // namespace tandem::lower::gpu
