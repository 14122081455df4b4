// 8x8 matrices of 16-bit elements between shared memory and registers, and mma.sync on them.
#pragma once
#include "compiler/codegen/nvidia/asm/call.h"

namespace tandem::codegen::ptx {

// `count` (1, 2, 4) matrices; lanes 0-7, 8-15, ... give the row addresses of each. An i32 register (two elements) a
// matrix.
Values loadMatrix(llvm::IRBuilderBase& b, llvm::Value* address, unsigned count, bool transposed);
void storeMatrix(llvm::IRBuilderBase& b, llvm::Value* address, ValueRange matrices, bool transposed);

enum class Element { F16, BF16, TF32, E4M3, E5M2, S8, U8, F64 };
enum class Accumulator { F16, F32, S32, F64 };

unsigned bitsOf(Element element);  // as stored: 32 for TF32
std::string text(Element element);
std::string text(Accumulator accumulator);

// D = A * B + C of one warp: m16n8, with k of 32 bytes (f16, bf16: 16; tf32: 8; 8 bits: 32), or half of that; f64: as tf32.
// A has 4 registers (2 for half k), B 2 (1), all i32, or doubles; C and D 4 floats, i32 or doubles, or 2 i32 (pairs) for F16.
struct MmaSync {
  Element a = Element::F16, b = Element::F16;
  Accumulator accumulator = Accumulator::F32;
};
Values mmaSync(llvm::IRBuilderBase& builder, const MmaSync& op, ValueRange a, ValueRange b, ValueRange c);

}  // namespace tandem::codegen::ptx
