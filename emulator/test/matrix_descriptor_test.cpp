// Matrix descriptors against the canonical layouts of the PTX ISA, which it writes as CuTe does: shape:stride, and
// Swizzle<B, 4, 3> behind it, in elements of 16 bytes.
#include "emulator/units/matrix_descriptor.h"
#include <gtest/gtest.h>
#include <vector>

namespace tandem::emulator {
namespace {

constexpr unsigned kStart = 0x2000;

uint64_t encoded(uint32_t start, uint32_t leading, uint32_t stride, unsigned mode) {
  auto field = [](uint64_t bytes) { return bytes >> 4 & 0x3fff; };
  return field(start) | field(leading) << 16 | field(stride) << 32 | uint64_t(mode) << 62;
}

// Swizzle<B, M, S>: the B bits from M + S on are added modulo 2 to those from M on.
uint32_t swizzle(unsigned b, uint32_t address) { return address ^ (address >> 3 & (((1u << b) - 1) << 4)); }

struct Mode {
  unsigned code, b, atom;  // in the descriptor; bits of the swizzle; 16-byte elements of a row
};
constexpr Mode kModes[] = {{0, 0, 1}, {3, 1, 2}, {2, 2, 4}, {1, 3, 8}};

// K-major: ((8, m), (T, 2k)):((atom T, SBO), (1, T)), and with (1, LBO) behind where there is no swizzle.
TEST(MatrixDescriptor, KMajor) {
  for (const Mode& mode : kModes) {
    uint32_t leading = 0x700, stride = mode.code ? mode.atom * 128 : 0x300;
    auto d = MatrixDescriptor::decode(encoded(kStart, leading, stride, mode.code));
    for (unsigned row = 0; row < 64; ++row)
      for (unsigned piece = 0; piece < 2; ++piece) {
        uint32_t plain = row % 8 * mode.atom * 16 + row / 8 * stride + piece * (mode.code ? 16 : leading);
        EXPECT_EQ(d.addressOf(true, row, piece), swizzle(mode.b, kStart + plain)) << mode.code << " " << row;
      }
  }
}

// MN-major: ((T, atom, m), (8, k)):((1, T, LBO), (atom T, SBO)), and ((T, 1, m), (8, k)):((1, T, SBO), (1T, LBO))
// without a swizzle.
TEST(MatrixDescriptor, RowsAlongK) {
  for (const Mode& mode : kModes) {
    uint32_t leading = 0x1000, stride = mode.code ? mode.atom * 128 : 0x80;
    auto d = MatrixDescriptor::decode(encoded(kStart, leading, stride, mode.code));
    for (unsigned k = 0; k < 16; ++k)
      for (unsigned piece = 0; piece < 32; ++piece) {
        unsigned m = piece / mode.atom;
        uint32_t plain = piece % mode.atom * 16 + m * (mode.code ? leading : stride) + k % 8 * mode.atom * 16 +
                         k / 8 * (mode.code ? stride : leading);
        EXPECT_EQ(d.addressOf(false, k, piece), swizzle(mode.b, kStart + plain)) << mode.code << " " << k;
      }
  }
}

// A tile that begins within a row of the swizzle, as the steps along K do.
TEST(MatrixDescriptor, StartsWithinAPattern) {
  auto d = MatrixDescriptor::decode(encoded(kStart + 64, 16, 1024, 1));
  EXPECT_EQ(d.addressOf(true, 0, 0), kStart + 64);
  EXPECT_EQ(d.addressOf(true, 1, 0), kStart + 128 + (64 ^ 16));
  EXPECT_EQ(d.addressOf(true, 5, 1), kStart + 5 * 128 + (80 ^ 5 * 16));
  EXPECT_EQ(d.addressOf(true, 8, 0), kStart + 1024 + 64);
}

TEST(MatrixDescriptor, Fields) {
  auto d = MatrixDescriptor::decode(encoded(0x3fff0, 0x3fff0, 0x12340, 1) | uint64_t(5) << 49);
  EXPECT_EQ(d.start, 0x3fff0u);
  EXPECT_EQ(d.leading, 0x3fff0u);
  EXPECT_EQ(d.stride, 0x12340u);
  EXPECT_EQ(d.baseOffset, 5u);
  EXPECT_EQ(d.span, 128u);
}

}  // namespace
}  // namespace tandem::emulator
