// Scalar instructions at their edges, each on the 32 lanes of a warp.
#include "emulator/test/run_ptx.h"
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace tandem::emulator {
namespace {

// Carries `instruction` out with a, b and c of each lane in %x, %y, %z and returns what it leaves in %d.
template <class T>
std::vector<T> results(const std::string& instruction, std::vector<T> a, std::vector<T> b = {}, std::vector<T> c = {}) {
  const std::string bits = std::to_string(8 * sizeof(T)), bytes = std::to_string(sizeof(T));
  std::string body = ".reg .b" + bits + " %x, %y, %z, %d;\n.reg .b64 %p<4>, %o;\n.reg .b32 %t;\n.reg .pred %q;\n";
  body += "mov.u32 %t, %tid.x;\nmul.wide.u32 %o, %t, " + bytes + ";\n";
  const char* names[] = {"%x", "%y", "%z"};
  for (int i = 0; i < 3; ++i) {
    std::string p = "%p" + std::to_string(i);
    body += "ld.param.u64 " + p + ", [p" + std::to_string(i) + "];\nadd.u64 " + p + ", " + p + ", %o;\n";
    body += "ld.global.b" + bits + " " + names[i] + ", [" + p + "];\n";
  }
  body += instruction + "\nld.param.u64 %p3, [p3];\nadd.u64 %p3, %p3, %o;\nst.global.b" + bits + " [%p3], %d;\n";
  TestKernel kernel(4, body);
  const size_t count = a.size();
  std::vector<T> out(kLanes);
  std::vector<uint64_t> arguments;
  for (std::vector<T>* each : {&a, &b, &c, &out}) {
    each->resize(kLanes);
    arguments.push_back(kernel.reachable(*each));
  }
  Shape shape;
  shape.block = {kLanes, 1, 1};
  kernel.run(shape, arguments);
  out.resize(count);
  return out;
}

using Words = std::vector<uint32_t>;
using Longs = std::vector<uint64_t>;
using Floats = std::vector<float>;
constexpr uint32_t kMinus1 = ~0u, kLeast = 0x80000000u;

uint32_t bitsOf(float value) { return std::bit_cast<uint32_t>(value); }

TEST(ScalarInstructions, IntegersWrapAround) {
  EXPECT_EQ(results<uint32_t>("add.s32 %d, %x, %y;", {kMinus1, kLeast}, {2, kLeast}), (Words{1, 0}));
  EXPECT_EQ(results<uint32_t>("add.sat.s32 %d, %x, %y;", {0x7fffffff, kLeast}, {1, kMinus1}),
            (Words{0x7fffffff, kLeast}));
  EXPECT_EQ(results<uint32_t>("mul.hi.s32 %d, %x, %y;", {kMinus1, kLeast}, {2, kLeast}), (Words{kMinus1, 0x40000000}));
  EXPECT_EQ(results<uint32_t>("mul.hi.u32 %d, %x, %y;", {kMinus1}, {kMinus1}), (Words{0xfffffffe}));
  EXPECT_EQ(results<uint64_t>("mul.hi.u64 %d, %x, %y;", {~0ull}, {~0ull}), (Longs{0xfffffffffffffffe}));
  EXPECT_EQ(results<uint32_t>("mad.lo.s32 %d, %x, %y, %z;", {kMinus1}, {7}, {10}), (Words{3}));
  EXPECT_EQ(results<uint32_t>("min.relu.s32 %d, %x, %y;", {kMinus1, 5}, {7, 3}), (Words{0, 3}));
  EXPECT_EQ(results<uint32_t>("max.s16x2 %d, %x, %y;", {0xffff0001}, {0x0002ffff}), (Words{0x00020001}));
}

TEST(ScalarInstructions, DivisionsHaveNoErrors) {
  EXPECT_EQ(results<uint32_t>("div.s32 %d, %x, %y;", {kLeast, 7, uint32_t(-7)}, {kMinus1, 0, 2}),
            (Words{kLeast, kMinus1, uint32_t(-3)}));
  EXPECT_EQ(results<uint32_t>("rem.s32 %d, %x, %y;", {kLeast, 7, uint32_t(-7)}, {kMinus1, 0, 2}),
            (Words{0, 7, kMinus1}));
}

TEST(ScalarInstructions, LongSumsCarry) {
  EXPECT_EQ(results<uint64_t>(".reg .b32 %a0, %a1, %b0, %b1;\nmov.b64 {%a0, %a1}, %x;\nmov.b64 {%b0, %b1}, %y;\n"
                              "add.cc.u32 %a0, %a0, %b0;\naddc.u32 %a1, %a1, %b1;\nmov.b64 %d, {%a0, %a1};",
                              {0xffffffff, 0x1ffffffff}, {1, 0xffffffff}),
            (Longs{0x100000000, 0x2fffffffe}));
  EXPECT_EQ(results<uint64_t>(".reg .b32 %a0, %a1, %b0, %b1;\nmov.b64 {%a0, %a1}, %x;\nmov.b64 {%b0, %b1}, %y;\n"
                              "sub.cc.u32 %a0, %a0, %b0;\nsubc.u32 %a1, %a1, %b1;\nmov.b64 %d, {%a0, %a1};",
                              {0x100000000}, {1}),
            (Longs{0xffffffff}));
}

TEST(ScalarInstructions, ShiftsStopAtTheWidth) {
  EXPECT_EQ(results<uint32_t>("shl.b32 %d, %x, %y;", {1, 1}, {31, 32}), (Words{kLeast, 0}));
  EXPECT_EQ(results<uint32_t>("shr.s32 %d, %x, %y;", {kLeast, kLeast}, {31, 40}), (Words{kMinus1, kMinus1}));
  EXPECT_EQ(results<uint32_t>("shf.l.wrap.b32 %d, %x, %y, %z;", {kLeast, 1}, {0, 2}, {1, 33}), (Words{1, 4}));
  EXPECT_EQ(results<uint32_t>("shf.r.clamp.b32 %d, %x, %y, %z;", {5}, {9}, {40}), (Words{9}));
}

TEST(ScalarInstructions, BitFields) {
  EXPECT_EQ(results<uint32_t>("bfe.u32 %d, %x, %y, %z;", {0xabcd1234, 0xabcd1234, 0xff}, {8, 28, 40}, {8, 8, 4}),
            (Words{0x12, 0xa, 0}));
  EXPECT_EQ(results<uint32_t>("bfe.s32 %d, %x, %y, %z;", {0x00000f00, 0x00000700, kLeast}, {8, 8, 28}, {4, 4, 8}),
            (Words{kMinus1, 7, 0xfffffff8}));
  EXPECT_EQ(results<uint32_t>("bfi.b32 %d, %x, %y, %z, 8;", {0xab, 0xab}, {0, kMinus1}, {8, 16}),
            (Words{0xab00, 0xffabffff}));
  EXPECT_EQ(results<uint32_t>("prmt.b32 %d, %x, %y, %z;", {0x33221180, 0x33221180}, {0x77665544, 0x77665544},
                              {0x7410, 0x8b00}),
            (Words{0x77441180, 0xff008080}));
  EXPECT_EQ(results<uint32_t>("lop3.b32 %d, %x, %y, %z, 0x96;", {0xff00}, {0xf0f0}, {0xcccc}),
            (Words{0xff00 ^ 0xf0f0 ^ 0xcccc}));
  EXPECT_EQ(results<uint32_t>("bfind.s32 %d, %x;", {0xfffffff0, 0, 16}), (Words{3, kMinus1, 4}));
}

TEST(ScalarInstructions, FloatsRoundAsAsked) {
  float third = 1.0f / 3;
  EXPECT_EQ(results<float>("div.rn.f32 %d, %x, %y;", {1}, {3}), (Floats{third}));
  Floats up = results<float>("add.rp.f32 %d, %x, %y;", {1}, {1e-10f}),
         down = results<float>("add.rz.f32 %d, %x, %y;", {1}, {1e-10f});
  EXPECT_EQ(up, (Floats{std::nextafter(1.0f, 2.0f)}));
  EXPECT_EQ(down, (Floats{1}));
  EXPECT_EQ(results<float>("mul.ftz.f32 %d, %x, %y;", {1e-30f, 1e-40f}, {1e-10f, 1}), (Floats{0, 0}));
  EXPECT_EQ(results<float>("fma.rn.sat.f32 %d, %x, %y, %z;", {2, -2, 0.5f}, {2, 2, 0.5f}, {0, 0, 0}),
            (Floats{1, 0, 0.25f}));
}

TEST(ScalarInstructions, NanGivesWayUnlessItIsAskedFor) {
  uint32_t nan = 0x7fc00001;
  EXPECT_EQ(results<uint32_t>("min.f32 %d, %x, %y;", {nan, bitsOf(0.0f)}, {bitsOf(2), bitsOf(-0.0f)}),
            (Words{bitsOf(2), bitsOf(-0.0f)}));
  EXPECT_EQ(results<uint32_t>("max.NaN.f32 %d, %x, %y;", {nan}, {bitsOf(2)}), (Words{0x7fffffff}));
  EXPECT_EQ(results<uint32_t>("setp.lt.f32 %q, %x, %y;\nselp.b32 %d, 1, 0, %q;", {nan, bitsOf(1)}, {0, bitsOf(2)}),
            (Words{0, 1}));
  EXPECT_EQ(results<uint32_t>("setp.ltu.f32 %q, %x, %y;\nselp.b32 %d, 1, 0, !%q;", {nan, bitsOf(3)}, {0, bitsOf(2)}),
            (Words{0, 1}));
}

TEST(ScalarInstructions, HalvesAreRoundedOnce) {
  // 2049 and 1/2^11 lie so that a sum in float, rounded to f16 again, would be another.
  EXPECT_EQ(results<uint16_t>("fma.rn.f16 %d, %x, %y, %z;", {0x3c01}, {0x3c01}, {0x0001}),
            (std::vector<uint16_t>{0x3c02}));
  EXPECT_EQ(results<uint32_t>("add.f16x2 %d, %x, %y;", {0x3c007bff}, {0x3c007bff}), (Words{0x40007c00}));
  EXPECT_EQ(results<uint32_t>("neg.bf16x2 %d, %x;", {0x3f808000}), (Words{0xbf800000}));
}

TEST(ScalarInstructions, ConversionsSaturate) {
  float inf = std::numeric_limits<float>::infinity();
  auto words = [](Floats values) {
    Words out;
    for (float value : values) out.push_back(bitsOf(value));
    return out;
  };
  EXPECT_EQ(results<uint32_t>("cvt.rzi.s32.f32 %d, %x;", words({-2.7f, 3e9f, -inf, NAN})),
            (Words{uint32_t(-2), 0x7fffffff, kLeast, 0}));
  EXPECT_EQ(results<uint32_t>("cvt.rni.u32.f32 %d, %x;", words({2.5f, 3.5f, -1})), (Words{2, 4, 0}));
  EXPECT_EQ(results<uint32_t>("cvt.rn.f32.u32 %d, %x;", {kMinus1}), (Words{bitsOf(4294967296.0f)}));
  EXPECT_EQ(results<uint32_t>("cvt.rn.f16x2.f32 %d, %x, %y;", words({1, 1e6f}), words({2, -1})),
            (Words{0x3c004000, 0x7c00bc00}));
  EXPECT_EQ(results<uint32_t>("cvt.rn.bf16x2.f32 %d, %x, %y;", {0x3f808000}, {0x3f818000}), (Words{0x3f803f82}));
  EXPECT_EQ(results<uint32_t>(".reg .b16 %h;\ncvt.rn.satfinite.e4m3x2.f32 %h, %x, %y;\ncvt.u32.u16 %d, %h;",
                              words({1e9f}), words({-0.0078125f})),
            (Words{0x7e84}));
  EXPECT_EQ(results<uint32_t>("cvt.s32.s8 %d, %x;", {0x180}), (Words{0xffffff80}));
  EXPECT_EQ(results<uint32_t>("cvt.rna.tf32.f32 %d, %x;", {0x3f801000}), (Words{0x3f802000}));
}

}  // namespace
}  // namespace tandem::emulator
