// Integer ops whose meaning LLVM leaves open for some operands.
#pragma once
#include "compiler/lower/gpu/kernel.h"

namespace tandem::lower::gpu {

// null when LLVM's own instruction is right
llvm::Value* integerOp(KernelContext& cx, mlir::Operation* op, Scalars operands);
llvm::Value* floatToInteger(KernelContext& cx, mlir::Operation* op, llvm::Value* x);
void lowerIntegerToFloat(KernelContext& cx, mlir::Operation* op);
void lowerExtended(KernelContext& cx, mlir::Operation* op);  // of two results

}  // namespace tandem::lower::gpu
