// The hardware's walk over a tile, from the descriptor's fields alone, ends at the element that the layout puts there.
#include "compiler/layout/matrix_descriptor.h"
#include "simulate.h"

namespace tandem::layout {
namespace {

struct Fields {
  int64_t start, leading, stride, chunks;  // bytes; 16-byte chunks in a row of the pattern
};
Fields decode(const MatrixOperand& operand, int64_t address) {
  uint64_t descriptor = descriptorBits(operand) | (address >> 4 & 0x3fff);
  auto field = [&](int shift) { return int64_t(descriptor >> shift & 0x3fff) << 4; };
  const int64_t chunks[] = {1, 8, 4, 2};
  return {field(0), field(16), field(32), chunks[descriptor >> 62]};
}

// PTX ISA's canonical layouts: core matrices are 8 rows of 16 bytes; with a pattern, 8 rows of its width.
int64_t canonicalByte(const Fields& f, bool kMajor, int64_t mn, int64_t k, int64_t elemBytes) {
  int64_t inner = (kMajor ? k : mn) * elemBytes, outer = kMajor ? mn : k, width = f.chunks * 16;
  int64_t inRow = inner % width + outer % 8 * width;
  if (f.chunks == 1 && !kMajor) return inRow + inner / width * f.stride + outer / 8 * f.leading;
  return inRow + inner / width * f.leading + outer / 8 * f.stride;
}
int64_t swizzled(int64_t address, int64_t chunks) { return address ^ ((address >> 7 & (chunks - 1)) << 4); }

TEST(MatrixDescriptor, WalksTheOperand) {
  for (unsigned elemBits : {8u, 16u, 32u})
    for (Swizzle swizzle : {Swizzle::None, Swizzle::Bytes32, Swizzle::Bytes64, Swizzle::Bytes128})
      for (bool kMajor : {true, false}) {
        MatrixOperand operand{128, 1024 / elemBits * 2, elemBits, kMajor, swizzle};
        unsigned alongK[] = {1, 0}, alongMN[] = {0, 1};
        Bases offsets = inverse(swizzledOffsets({operand.mn, operand.k}, elemBits, swizzle, kMajor ? alongK : alongMN));
        int64_t bytes = elemBits / 8, slice = instructionK(elemBits), base = 4096;
        for (int64_t mn0 : {int64_t(0), int64_t(64)})
          for (int64_t k0 = 0; k0 < operand.k; k0 += slice) {
            if (!kMajor && mn0 * bytes % rowBytes(swizzle) != 0) continue;
            Fields fields = decode(operand, base + startByteOffset(operand, mn0, k0));
            for (int64_t mn = 0; mn < 64; ++mn)
              for (int64_t k = 0; k < slice; ++k) {
                int64_t seen = swizzled(fields.start + canonicalByte(fields, kMajor, mn, k, bytes), fields.chunks);
                int64_t offset = combine(offsets, LinearLayout({operand.mn, operand.k}).position({mn0 + mn, k0 + k}));
                ASSERT_EQ(seen, base + offset * bytes)
                    << elemBits << " " << int(swizzle) << " " << kMajor << " " << mn << " " << k;
              }
          }
      }
}

TEST(MatrixDescriptor, Fields) {
  MatrixOperand operand{128, 64, 16, true, Swizzle::Bytes128};
  EXPECT_EQ(descriptorBits(operand), uint64_t(1) << 62 | uint64_t(1024 >> 4) << 32 | uint64_t(1) << 16);
  EXPECT_EQ(instructionK(16), 16);
  EXPECT_EQ(instructionK(8), 32);
  EXPECT_EQ(instructionK(32), 8);
}

}  // namespace
}  // namespace tandem::layout
