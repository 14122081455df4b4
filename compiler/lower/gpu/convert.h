// A tile from one layout to another.
#pragma once
#include "compiler/lower/gpu/kernel.h"

namespace tandem::lower::gpu {

Regs convertLayout(KernelContext& cx, const Regs& source, const LinearLayout& from, const LinearLayout& to,
                   llvm::Type* element, mlir::Location loc);
// Copies of one position, which are read once.
void repeatCopies(Regs& regs, const LinearLayout& layout);
// XOR of the masks whose bit of `id` is set.
llvm::Value* xorOfMasks(KernelContext& cx, llvm::Value* id, llvm::ArrayRef<uint64_t> masks);

}  // namespace tandem::lower::gpu
