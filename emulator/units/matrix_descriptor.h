// The 64 bits by which wgmma names a matrix in shared memory. Source: PTX ISA, "Matrix descriptor format", "Strides" and
// "Canonical layouts".
#pragma once
#include <cstdint>

namespace tandem::emulator {

struct MatrixDescriptor {
  uint32_t start = 0, leading = 0, stride = 0;  // bytes
  unsigned baseOffset = 0;                      // rows of 128 bytes by which the swizzle's pattern begins late
  unsigned span = 16;                           // the swizzle's, in bytes; 16: none

  static MatrixDescriptor decode(uint64_t bits);

  // Rows lie along the other side of the matrix than the elements that are neighbours in memory: along M or N if
  // `isKMajor`, else along K. The address of the 16 bytes that are piece `piece` of a row.
  uint32_t addressOf(bool isKMajor, unsigned row, unsigned piece) const;
};

}  // namespace tandem::emulator
