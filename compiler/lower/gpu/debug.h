// Printing and assertions share these parts of a message: its text, and the program that it comes from.
#pragma once
#include "compiler/lower/gpu/kernel.h"

namespace tandem::lower::gpu {

llvm::Value* text(KernelContext& cx, llvm::StringRef text);  // a constant string's generic address
Regs programIndex(KernelContext& cx);                        // of the program, along the three axes

}  // namespace tandem::lower::gpu
