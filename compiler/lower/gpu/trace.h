// The records of a kernel that is compiled to record (abi/trace.h). In other kernels none of it is left.
#pragma once
#include "compiler/lower/gpu/kernel.h"

namespace tandem::lower::gpu {

void beginTrace(KernelContext& cx);
// Emits `body` between two records of one site. `kind` is a word of the trace, `value` may be null.
void traced(KernelContext& cx, const char* kind, mlir::Operation* op, llvm::Value* value,
            llvm::function_ref<void()> body);
void traceInstant(KernelContext& cx, const char* kind, mlir::Operation* op, llvm::Value* value);
void traceTiles(KernelContext& cx, mlir::Operation* loop, llvm::Value* number, llvm::function_ref<void()> body);
void finishTrace(KernelContext& cx);

}  // namespace tandem::lower::gpu
