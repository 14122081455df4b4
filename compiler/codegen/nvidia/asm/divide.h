// Integer division whose divisor is a variable.
#pragma once
#include "compiler/codegen/nvidia/asm/call.h"

namespace tandem::codegen::ptx {

// The quotient, rounded towards zero, and the remainder of integers of 32 or 64 bits. A divisor of zero gives all ones and
// the dividend, -1 negates: so the instructions for 32 bits, and for 64 what is made of them, have it for all operands,
// which LLVM's own ops leave open.
struct Divided {
  llvm::Value *quotient, *remainder;
};
Divided divide(llvm::IRBuilderBase& b, llvm::Value* x, llvm::Value* y, bool isSigned);

}  // namespace tandem::codegen::ptx
