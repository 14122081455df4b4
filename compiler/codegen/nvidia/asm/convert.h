// Conversions that convert two elements at once, and those to 8-bit floats (sm_89).
#pragma once
#include "compiler/codegen/nvidia/asm/call.h"

namespace tandem::codegen::ptx {

using codegen::Float8;

// <2 x half> or <2 x bfloat> of two floats, to nearest even or towards zero.
llvm::Value* packHalf(llvm::IRBuilderBase& b, llvm::Value* first, llvm::Value* second, bool towardZero = false);
llvm::Value* packBfloat(llvm::IRBuilderBase& b, llvm::Value* first, llvm::Value* second, bool towardZero = false);

// Returns i16 with `first` in the low byte; a value beyond the largest finite one becomes that one.
llvm::Value* packFloat8(llvm::IRBuilderBase& b, Float8 type, llvm::Value* first, llvm::Value* second);
llvm::Value* halfToFloat8(llvm::IRBuilderBase& b, Float8 type, llvm::Value* pair);  // <2 x half> -> i16
llvm::Value* float8ToHalf(llvm::IRBuilderBase& b, Float8 type, llvm::Value* pair);  // i16 -> <2 x half>, exact

// The same i32, of which LLVM does not know what it is made of.
llvm::Value* concealed(llvm::IRBuilderBase& b, llvm::Value* word);

}  // namespace tandem::codegen::ptx
