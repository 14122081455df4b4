#include "emulator/units/matrix_descriptor.h"
#include "emulator/units/swizzle.h"

namespace tandem::emulator {

MatrixDescriptor MatrixDescriptor::decode(uint64_t bits) {
  static constexpr unsigned kSpans[] = {16, 128, 64, 32};
  auto bytes = [&](unsigned from) { return uint32_t(bits >> from & 0x3fff) << 4; };
  return {bytes(0), bytes(16), bytes(32), unsigned(bits >> 49 & 7), kSpans[bits >> 62]};
}

uint32_t MatrixDescriptor::addressOf(bool isKMajor, unsigned row, unsigned piece) const {
  unsigned pieces = span / 16, inside = piece % pieces, atom = piece / pieces;
  uint32_t offset = row % 8 * span + inside * 16;
  // The leading distance is that between atoms along a row, but for MN-major matrices without a swizzle.
  bool leadsAlongRow = isKMajor || span != 16;
  offset += leadsAlongRow ? atom * leading + row / 8 * stride : atom * stride + row / 8 * leading;
  return swizzled(start + offset, span);
}

}  // namespace tandem::emulator
