// Conversions between float formats.
#pragma once
#include "compiler/lower/gpu/kernel.h"

namespace tandem::lower::gpu {

// Two at a time, where the target does that.
Regs convertFloats(KernelContext& cx, Scalars values, mlir::Type from, mlir::Type to, bool towardZero);
llvm::Value* convertFloat(KernelContext& cx, llvm::Value* value, mlir::Type from, mlir::Type to, bool towardZero);
// toFloat() converts an element of a float type to float32 (float64 stays), fromFloat() rounds it.
llvm::Value* toFloat(KernelContext& cx, llvm::Value* value, mlir::Type from);
llvm::Value* fromFloat(KernelContext& cx, llvm::Value* value, mlir::Type to);
// An op on floats narrower than float32: its operands widened, its result rounded where it is such a float too.
llvm::Value* throughFloat(KernelContext& cx, mlir::Operation* op, Scalars operands,
                          llvm::function_ref<llvm::Value*(Scalars)> compute);
void lowerFloatConvert(KernelContext& cx, mlir::Operation* op);

}  // namespace tandem::lower::gpu
