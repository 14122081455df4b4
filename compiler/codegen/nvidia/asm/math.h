// The special function unit: one instruction, a few ulp.
#pragma once
#include "compiler/codegen/nvidia/asm/call.h"

namespace tandem::codegen::ptx {

using codegen::Approximate;
// `x` is a float; Exp2 and Tanh also take half, bfloat (sm_90) and two-element vectors of these. `flush` makes
// denormals zero; Tanh and 16-bit types have no such variant.
llvm::Value* approximate(llvm::IRBuilderBase& b, Approximate function, llvm::Value* x, bool flush = true);

}  // namespace tandem::codegen::ptx
