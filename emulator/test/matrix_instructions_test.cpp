// mma, wgmma, ldmatrix and stmatrix as PTX texts.
#include "emulator/test/run_ptx.h"
#include <gtest/gtest.h>
#include <bit>
#include <cmath>
#include <random>

namespace tandem::emulator {
namespace {

uint16_t half(float value) { return std::bit_cast<uint16_t>(_Float16(value)); }

// Small integers, whose products and sums are exact.
std::vector<float> numbers(size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<float> made(count);
  for (float& value : made) value = float(int(engine() % 9) - 4);
  return made;
}

std::vector<uint16_t> halves(const std::vector<float>& values) {
  std::vector<uint16_t> made;
  for (float value : values) made.push_back(half(value));
  return made;
}

std::string list(const char* name, unsigned count) {
  std::string text;
  for (unsigned i = 0; i < count; ++i) text += (i ? ", " : "") + std::string(name) + std::to_string(i);
  return "{" + text + "}";
}

// %lane, %warp and the pointers %p0 ...
std::string begin(unsigned pointers) {
  std::string text =
      ".reg .b32 %lane, %warp, %at, %t<8>; .reg .b64 %wide, %p<4>; .reg .pred %yes;\n"
      "mov.u32 %t0, %tid.x; and.b32 %lane, %t0, 31; shr.u32 %warp, %t0, 5; setp.eq.u32 %yes, 0, 0;\n";
  for (unsigned i = 0; i < pointers; ++i)
    text += "ld.param.u64 %p" + std::to_string(i) + ", [p" + std::to_string(i) + "];\n";
  return text;
}

TEST(MatrixInstructions, LoadMatrixAndStoreMatrix) {
  for (bool isTransposed : {false, true}) {
    std::string turn = isTransposed ? ".trans" : "";
    // Row r of matrix i is at the address of lane 8 i + r.
    TestKernel kernel(3, begin(3) + R"(
      .shared .align 128 .b8 tile[1024];
      .reg .b32 %m<4>; .reg .b64 %from; .reg .b32 %v<4>;
      mul.wide.u32 %wide, %lane, 16; add.s64 %from, %p0, %wide;
      mov.u32 %at, tile; mad.lo.s32 %at, %lane, 16, %at;
      ld.global.v4.b32 {%v0, %v1, %v2, %v3}, [%from];
      st.shared.v4.b32 [%at], {%v0, %v1, %v2, %v3};
      bar.warp.sync -1;
      ldmatrix.sync.aligned.m8n8.x4)" +
                             turn + R"(.shared.b16 {%m0, %m1, %m2, %m3}, [%at];
      add.s64 %from, %p1, %wide;
      st.global.v4.b32 [%from], {%m0, %m1, %m2, %m3};
      stmatrix.sync.aligned.m8n8.x4)" +
                             turn + R"(.shared.b16 [%at+512], {%m0, %m1, %m2, %m3};
      bar.warp.sync -1;
      ld.shared.v4.b32 {%v0, %v1, %v2, %v3}, [%at+512];
      add.s64 %from, %p2, %wide;
      st.global.v4.b32 [%from], {%v0, %v1, %v2, %v3};)");
    std::vector<uint16_t> in(256), fragments(256), out(256);
    for (size_t i = 0; i < in.size(); ++i) in[i] = uint16_t(i);
    kernel.run({.block = {32, 1, 1}}, {kernel.reachable(in), kernel.reachable(fragments), kernel.reachable(out)});
    EXPECT_EQ(in, out);
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned i = 0; i < 4; ++i)
        for (unsigned part = 0; part < 2; ++part) {
          unsigned row = lane / 4, column = lane % 4 * 2 + part;
          if (isTransposed) std::swap(row, column);
          EXPECT_EQ(fragments[lane * 8 + i * 2 + part], i * 64 + row * 8 + column);
        }
  }
}

TEST(MatrixInstructions, Mma) {
  // Each lane loads its own fragments from row-major A [16, 16] and column-major B [8 columns of 16].
  TestKernel kernel(3, begin(3) + R"(
    .reg .b32 %g, %t; .reg .b32 %a<4>, %b<2>; .reg .f32 %c<4>, %d<4>;
    shr.u32 %g, %lane, 2; and.b32 %t, %lane, 3;
    mul.lo.s32 %at, %g, 32; mad.lo.s32 %at, %t, 4, %at; cvt.u64.u32 %wide, %at;
    add.s64 %p0, %p0, %wide; add.s64 %p1, %p1, %wide;
    ld.global.b32 %a0, [%p0]; ld.global.b32 %a1, [%p0+256]; ld.global.b32 %a2, [%p0+16]; ld.global.b32 %a3, [%p0+272];
    ld.global.b32 %b0, [%p1]; ld.global.b32 %b1, [%p1+16];
    mov.f32 %c0, 0f3F800000; mov.f32 %c1, %c0; mov.f32 %c2, %c0; mov.f32 %c3, %c0;
    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%d0,%d1,%d2,%d3}, {%a0,%a1,%a2,%a3}, {%b0,%b1}, {%c0,%c1,%c2,%c3};
    mul.lo.s32 %at, %g, 32; mad.lo.s32 %at, %t, 8, %at; cvt.u64.u32 %wide, %at; add.s64 %p2, %p2, %wide;
    st.global.v2.f32 [%p2], {%d0, %d1}; st.global.v2.f32 [%p2+256], {%d2, %d3};)");
  auto a = numbers(256, 1), b = numbers(128, 2);
  auto ha = halves(a), hb = halves(b);
  std::vector<float> out(128);
  kernel.run({.block = {32, 1, 1}}, {kernel.reachable(ha), kernel.reachable(hb), kernel.reachable(out)});
  for (unsigned i = 0; i < 16; ++i)
    for (unsigned j = 0; j < 8; ++j) {
      float wanted = 1;
      for (unsigned k = 0; k < 16; ++k) wanted += a[i * 16 + k] * b[j * 16 + k];
      EXPECT_EQ(out[i * 8 + j], wanted) << i << " " << j;
    }
}

// A warpgroup's product of A [64, 16], in shared memory without swizzle or in registers, and B of 16 columns; twice, the
// second time with the sums of the first. The tiles come from the host as they lie in shared memory.
std::string wgmmaBody(const std::string& left, const std::string& flags) {
  std::string d = list("%d", 8);
  std::string product = "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 " + d + ", " + left + ", %right, ";
  return begin(3) + R"(
    .shared .align 128 .b8 a[2048]; .shared .align 128 .b8 b[512];
    .reg .b64 %left, %right; .reg .b32 %a<4>; .reg .f32 %d<8>; .reg .b32 %g;
    mul.wide.u32 %wide, %t0, 16; add.s64 %p0, %p0, %wide;
    ld.global.v4.b32 {%a0,%a1,%a2,%a3}, [%p0];
    mov.u32 %at, a; mad.lo.s32 %at, %t0, 16, %at; st.shared.v4.b32 [%at], {%a0,%a1,%a2,%a3};
    mul.wide.u32 %wide, %t0, 4; add.s64 %p1, %p1, %wide;
    ld.global.b32 %t1, [%p1]; mov.u32 %at, b; mad.lo.s32 %at, %t0, 4, %at; st.shared.b32 [%at], %t1;
    fence.proxy.async; bar.sync 0;
    mov.u32 %t1, a; shr.u32 %t1, %t1, 4; cvt.u64.u32 %left, %t1;
    mov.u32 %t1, b; shr.u32 %t1, %t1, 4; cvt.u64.u32 %right, %t1;
    or.b64 %left, %left, LEFT; or.b64 %right, %right, RIGHT;
    wgmma.fence.sync.aligned;
    )" + product +
         "0, 1, -1" + flags + ";\n" + product + "%yes, 1, -1" + flags + ";" + R"(
    wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
    shr.u32 %g, %lane, 2; and.b32 %t1, %lane, 3; mad.lo.s32 %g, %warp, 16, %g;
    mul.lo.s32 %at, %g, 64; mad.lo.s32 %at, %t1, 8, %at; cvt.u64.u32 %wide, %at; add.s64 %p2, %p2, %wide;
    st.global.v2.f32 [%p2], {%d0,%d1}; st.global.v2.f32 [%p2+512], {%d2,%d3};
    st.global.v2.f32 [%p2+32], {%d4,%d5}; st.global.v2.f32 [%p2+544], {%d6,%d7};)";
}

void replaceWord(std::string& text, const std::string& word, const std::string& by) {
  text.replace(text.find(word), word.size(), by);
}

std::string descriptor(uint64_t leading, uint64_t stride) {
  return std::to_string(leading >> 4 << 16 | stride >> 4 << 32);
}

// Core matrices of 8 rows of 16 bytes, one behind the other, first along the rows of 8 (`rowGroups` of them).
std::vector<uint16_t> coreMatrices(const std::vector<float>& matrix, unsigned rows, unsigned columns) {
  std::vector<uint16_t> made(matrix.size());
  for (unsigned r = 0; r < rows; ++r)
    for (unsigned c = 0; c < columns; ++c)
      made[(c / 8 * (rows / 8) + r / 8) * 64 + r % 8 * 8 + c % 8] = half(matrix[r * columns + c]);
  return made;
}

std::vector<float> transposed(const std::vector<float>& matrix, unsigned rows) {
  size_t columns = matrix.size() / rows;
  std::vector<float> made(matrix.size());
  for (size_t r = 0; r < rows; ++r)
    for (size_t c = 0; c < columns; ++c) made[c * rows + r] = matrix[r * columns + c];
  return made;
}

// Each product is subtracted, as B has the factor -1.
void checkWgmma(const std::string& body, const std::vector<uint16_t>& a, const std::vector<uint16_t>& b) {
  TestKernel kernel(3, body);
  auto left = a, right = b;
  std::vector<float> out(64 * 16);
  kernel.run({.block = {128, 1, 1}}, {kernel.reachable(left), kernel.reachable(right), kernel.reachable(out)});
  auto fa = numbers(64 * 16, 3), fb = numbers(16 * 16, 4);
  for (unsigned i = 0; i < 64; ++i)
    for (unsigned j = 0; j < 16; ++j) {
      float wanted = 0;
      for (unsigned k = 0; k < 16; ++k) wanted -= 2 * fa[i * 16 + k] * fb[j * 16 + k];
      EXPECT_EQ(out[i * 16 + j], wanted) << i << " " << j;
    }
}

TEST(MatrixInstructions, WgmmaOfSharedMemory) {
  auto a = numbers(64 * 16, 3), b = numbers(16 * 16, 4);
  std::string body = wgmmaBody("%left", ", 0, 0");
  replaceWord(body, "LEFT", descriptor(1024, 128));
  replaceWord(body, "RIGHT", descriptor(256, 128));
  checkWgmma(body, coreMatrices(a, 64, 16), coreMatrices(b, 16, 16));
}

// Both are transposed in shared memory: rows lie along K, and the distances have changed their roles.
TEST(MatrixInstructions, WgmmaOfTransposedMatrices) {
  auto a = transposed(numbers(64 * 16, 3), 64), b = transposed(numbers(16 * 16, 4), 16);
  std::string body = wgmmaBody("%left", ", 1, 1");
  replaceWord(body, "LEFT", descriptor(128, 256));
  replaceWord(body, "RIGHT", descriptor(128, 256));
  checkWgmma(body, coreMatrices(a, 16, 64), coreMatrices(b, 16, 16));
}

TEST(MatrixInstructions, WgmmaOfRegisters) {
  auto a = numbers(64 * 16, 3), b = numbers(16 * 16, 4);
  std::string body = wgmmaBody("{%a0,%a1,%a2,%a3}", ", 0");
  replaceWord(body, "LEFT", "0");
  replaceWord(body, "RIGHT", descriptor(256, 128));
  // The 16 bytes that each thread loads are its fragment.
  std::vector<uint16_t> fragments(64 * 16);
  for (unsigned thread = 0; thread < 128; ++thread)
    for (unsigned i = 0; i < 8; ++i) {
      unsigned lane = thread % 32, row = thread / 32 * 16 + lane / 4 + (i / 2 % 2) * 8,
               k = i / 4 * 8 + lane % 4 * 2 + i % 2;
      fragments[thread * 8 + i] = half(a[row * 16 + k]);
    }
  checkWgmma(body, fragments, coreMatrices(b, 16, 16));
}

}  // namespace
}  // namespace tandem::emulator
