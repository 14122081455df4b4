// The numbers that wgmma's matrix descriptors need for an operand laid out by `swizzledOffsets`. Source: PTX ISA,
// "Matrix descriptor format" and "Strides": all addresses in units of 16 bytes; bits 0-13 start address, 16-29 leading
// dimension byte offset, 32-45 stride dimension byte offset, 49-51 base offset, 62-63 swizzle mode.
#pragma once
#include "compiler/layout/shared.h"

namespace tandem::layout {

// An operand in shared memory: A is [M, K], B is [K, N]; `mn` is the size along M or N of the whole buffer, `k` along
// K. kMajor: neighbours along K are neighbours in memory (A row-major, B column-major).
struct MatrixOperand {
  int64_t mn = 0, k = 0;
  unsigned elemBits = 16;
  bool kMajor = true;
  Swizzle swizzle = Swizzle::Bytes128;
};

// Elements of K that one instruction takes: 32 bytes.
int64_t instructionK(unsigned elemBits);

// K-major: between core matrices next to each other along K (without swizzle only; the hardware ignores it otherwise).
// MN-major: between boxes next to each other along M or N (without swizzle: between groups of 8 rows of K).
int64_t leadingByteOffset(const MatrixOperand& operand);
// K-major: between groups of 8 rows of M or N. MN-major: between groups of 8 rows of K (without swizzle: between boxes
// along M or N).
int64_t strideByteOffset(const MatrixOperand& operand);
// Returns the distance from the buffer's beginning to the element (mn, k), which begins an instruction's tile: `mn` a
// multiple of 8 rows (K-major) or of a box (MN-major), `k` a multiple of instructionK.
int64_t startByteOffset(const MatrixOperand& operand, int64_t mn, int64_t k);
// 0 none, 1 128 bytes, 2 64 bytes, 3 32 bytes.
uint64_t swizzleMode(Swizzle swizzle);
// The descriptor without its start address; OR in ((address + startByteOffset) >> 4) & 0x3fff.
uint64_t descriptorBits(const MatrixOperand& operand);

}  // namespace tandem::layout
