// The hardware's walk over a tile, from the descriptor's fields alone, ends at the element that the layout puts there.
#include "compiler/layout/matrix_descriptor.h"
#include "simulate.h"

namespace tandem::layout {
namespace {

struct Fields {
  int64_t start, leading, stride, chunks;  // bytes; 16-byte chunks in a row of the pattern
};
Fields decode(uint64_t descriptor) {
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
        Bases offsets = inverse(operandOffsets(operand));
        int64_t bytes = elemBits / 8, slice = instructionK(elemBits), base = 4096;
        for (int64_t mn0 : {int64_t(0), int64_t(64)})
          for (int64_t k0 = 0; k0 < operand.k; k0 += slice) {
            if (!kMajor && mn0 * bytes % rowBytes(swizzle) != 0) continue;
            Fields fields = decode(descriptor(operand, base + startByteOffset(operand, mn0, k0)));
            for (int64_t mn = 0; mn < 64; ++mn)
              for (int64_t k = 0; k < slice; ++k) {
                int64_t seen = swizzled(fields.start + canonicalByte(fields, kMajor, mn, k, bytes), fields.chunks);
                int64_t offset = combine(offsets, LinearLayout({operand.mn, operand.k}).position({mn0 + mn, k0 + k}));
                ASSERT_EQ(seen, base + offset * bytes) << elemBits << " " << int(swizzle) << " " << kMajor << " " << mn << " " << k;
              }
          }
      }
}

TEST(MatrixDescriptor, Slices) {
  EXPECT_EQ(sliceByteStep({128, 64, 16, true, Swizzle::Bytes128}), 32);
  EXPECT_EQ(sliceByteStep({128, 128, 16, true, Swizzle::Bytes128}), std::nullopt);
  EXPECT_EQ(sliceByteStep({128, 64, 16, false, Swizzle::Bytes128}), 2048);
  EXPECT_EQ(sliceByteStep({128, 64, 16, true, Swizzle::None}), 2 * 128 * 16);
  for (bool kMajor : {true, false})
    for (Swizzle swizzle : {Swizzle::None, Swizzle::Bytes32, Swizzle::Bytes64, Swizzle::Bytes128}) {
      MatrixOperand operand{64, rowBytes(swizzle) >= 32 ? rowBytes(swizzle) / 2 : 64, 16, kMajor, swizzle};
      std::optional<int64_t> step = sliceByteStep(operand);
      ASSERT_TRUE(step);
      for (int64_t i = 0; i * 16 < operand.k; ++i) EXPECT_EQ(startByteOffset(operand, 0, i * 16), i * *step);
    }
}

TEST(MatrixDescriptor, Fields) {
  MatrixOperand operand{128, 64, 16, true, Swizzle::Bytes128};
  EXPECT_EQ(descriptorBits(operand), uint64_t(1) << 62 | uint64_t(1024 >> 4) << 32 | uint64_t(1) << 16);
  EXPECT_EQ(instructionK(16), 16);
  EXPECT_EQ(instructionK(8), 32);
  EXPECT_EQ(instructionK(32), 8);
  EXPECT_TRUE(wgmmaReads(operand));
  EXPECT_FALSE(wgmmaReads({128, 64, 8, false, Swizzle::Bytes128}));
}

}  // namespace
}  // namespace tandem::layout
