// Conversions: every code of every narrow float, ties, saturation, integers at their limits.
#include "reference.h"
#include <gtest/gtest.h>
#include <limits>

namespace tandem::interpreter {
namespace {

std::vector<uint8_t> codesAsBytes(const Format& f) {
  size_t count = size_t{1} << f.bits(), width = byteSize(f.elem);
  std::vector<uint8_t> bytes(count * width);
  for (size_t i = 0; i < count; ++i) std::memcpy(bytes.data() + i * width, &i, width);
  return bytes;
}

uint32_t codeAt(const std::vector<uint8_t>& bytes, Elem elem, size_t i) {
  uint32_t code = 0;
  std::memcpy(&code, bytes.data() + i * byteSize(elem), byteSize(elem));
  return code;
}

std::vector<uint8_t> encode(ConvertOp op, Elem from, const void* in, size_t n, Elem to) {
  std::vector<uint8_t> out(n * byteSize(to));
  convertKernel(op, from, to)(in, out.data(), n);
  return out;
}

TEST(Narrow, EveryCodeDecodesToItsValueAndBack) {
  for (const Format& f : kFormats) {
    size_t count = size_t{1} << f.bits();
    std::vector<uint8_t> codes = codesAsBytes(f);
    std::vector<float> floats(count);
    std::vector<double> doubles(count);
    convertKernel(ConvertOp::FToF, f.elem, Elem::F32)(codes.data(), floats.data(), count);
    convertKernel(ConvertOp::FToF, f.elem, Elem::F64)(codes.data(), doubles.data(), count);
    for (ConvertOp op : {ConvertOp::FToF, ConvertOp::FToFRtz}) {
      std::vector<uint8_t> back = encode(op, Elem::F32, floats.data(), count, f.elem);
      std::vector<uint8_t> backFromDouble = encode(op, Elem::F64, doubles.data(), count, f.elem);
      for (uint32_t code = 0; code < count; ++code) {
        double expected = f.value(code);
        if (std::isnan(expected)) {
          EXPECT_TRUE(std::isnan(floats[code]) && std::isnan(doubles[code])) << int(f.elem) << " " << code;
          EXPECT_TRUE(std::isnan(f.value(codeAt(back, f.elem, code)))) << int(f.elem) << " " << code;
          continue;
        }
        EXPECT_EQ(floats[code], expected);
        EXPECT_EQ(std::signbit(floats[code]), std::signbit(expected));
        EXPECT_EQ(doubles[code], expected);
        uint32_t same = code;
        if (std::isinf(expected) && f.saturates && op == ConvertOp::FToF) same = code - 1;
        EXPECT_EQ(codeAt(back, f.elem, code), same) << int(f.elem);
        EXPECT_EQ(codeAt(backFromDouble, f.elem, code), same) << int(f.elem);
      }
    }
  }
}

// The values lie between neighbours: just below the middle, the middle, just above it, from double and from float.
TEST(Narrow, RoundsToNearestEvenAndTowardZero) {
  for (const Format& f : kFormats) {
    std::vector<double> inputs;
    std::vector<uint32_t> nearest, truncated;
    uint32_t half = 1u << (f.bits() - 1);
    for (uint32_t code = 0; code + 1 < half; ++code) {
      double low = f.value(code), high = f.value(code + 1);
      if (!std::isfinite(low) || !std::isfinite(high)) break;
      double middle = low + (high - low) / 2, step = (high - low) / 1024;
      for (uint32_t sign : {0u, half}) {
        for (double offset : {-step, 0.0, step}) {
          inputs.push_back((middle + offset) * (sign ? -1 : 1));
          uint32_t up = offset > 0 || (offset == 0 && code % 2 == 1) ? code + 1 : code;
          nearest.push_back(f.fnuz && up == 0 ? 0 : up | sign);
          truncated.push_back(f.fnuz && code == 0 ? 0 : code | sign);
        }
      }
    }
    std::vector<float> floats(inputs.begin(), inputs.end());
    auto fromDouble = encode(ConvertOp::FToF, Elem::F64, inputs.data(), inputs.size(), f.elem);
    auto fromFloat = encode(ConvertOp::FToF, Elem::F32, floats.data(), floats.size(), f.elem);
    auto cutDouble = encode(ConvertOp::FToFRtz, Elem::F64, inputs.data(), inputs.size(), f.elem);
    auto cutFloat = encode(ConvertOp::FToFRtz, Elem::F32, floats.data(), floats.size(), f.elem);
    ASSERT_GT(inputs.size(), 500u);
    for (size_t i = 0; i < inputs.size(); ++i) {
      EXPECT_EQ(codeAt(fromDouble, f.elem, i), nearest[i]) << int(f.elem) << " " << inputs[i];
      EXPECT_EQ(codeAt(cutDouble, f.elem, i), truncated[i]) << int(f.elem) << " " << inputs[i];
      // The least subnormals of bf16 leave a float no room for the offset.
      if (static_cast<double>(floats[i]) != inputs[i]) continue;
      EXPECT_EQ(codeAt(fromFloat, f.elem, i), nearest[i]) << int(f.elem) << " " << inputs[i];
      EXPECT_EQ(codeAt(cutFloat, f.elem, i), truncated[i]) << int(f.elem) << " " << inputs[i];
    }
  }
}

TEST(Narrow, DoubleRoundsOnce) {
  // A hair above a tie of f16 that a float cannot show.
  std::vector<double> in = {1.0 + 0x1p-11 + 0x1p-40, -(1.0 + 0x1p-11 + 0x1p-40)};
  auto out = encode(ConvertOp::FToF, Elem::F64, in.data(), 2, Elem::F16);
  EXPECT_EQ(codeAt(out, Elem::F16, 0), 0x3c01u);
  EXPECT_EQ(codeAt(out, Elem::F16, 1), 0xbc01u);
  std::vector<int64_t> wide = {(int64_t{1} << 62) + (int64_t{1} << 54) + 1, (int64_t{1} << 62) + (int64_t{1} << 54)};
  auto bf = encode(ConvertOp::SToF, Elem::I64, wide.data(), 2, Elem::BF16);
  EXPECT_EQ(codeAt(bf, Elem::BF16, 0), 0x5e81u);
  EXPECT_EQ(codeAt(bf, Elem::BF16, 1), 0x5e80u);
}

TEST(Narrow, OverflowSaturatesFp8AndGivesInfinityElsewhere) {
  std::vector<float> in = {1e30f, -1e30f, INFINITY, 464.0f, 480.0f};
  auto e4 = encode(ConvertOp::FToF, Elem::F32, in.data(), in.size(), Elem::F8E4M3FN);
  EXPECT_EQ(e4, (std::vector<uint8_t>{0x7e, 0xfe, 0x7e, 0x7e, 0x7e}));
  auto e5 = encode(ConvertOp::FToF, Elem::F32, in.data(), 3, Elem::F8E5M2);
  EXPECT_EQ(e5, (std::vector<uint8_t>{0x7b, 0xfb, 0x7b}));
  auto half = encode(ConvertOp::FToF, Elem::F32, in.data(), 1, Elem::F16);
  EXPECT_EQ(codeAt(half, Elem::F16, 0), 0x7c00u);
  auto cut = encode(ConvertOp::FToFRtz, Elem::F32, in.data(), 3, Elem::F16);
  EXPECT_EQ(codeAt(cut, Elem::F16, 0), 0x7bffu);
  EXPECT_EQ(codeAt(cut, Elem::F16, 2), 0x7c00u);
}

TEST(Convert, DoubleToFloatTowardZero) {
  std::vector<double> in = {1.0 + 0x1p-24 + 0x1p-30, 1e300, -1e300, INFINITY, 1e-60};
  auto out = run<float>(convertKernel(ConvertOp::FToFRtz, Elem::F64, Elem::F32), in);
  constexpr float max = std::numeric_limits<float>::max();
  EXPECT_EQ(out, (std::vector<float>{1.0f, max, -max, INFINITY, 0.0f}));
}

TEST(Convert, FloatToIntegerTruncatesAndSaturates) {
  std::vector<float> in = {1.9f, -1.9f, 3e9f, -3e9f, NAN, INFINITY, -INFINITY, 2147483520.0f};
  auto s32 = run<int32_t>(convertKernel(ConvertOp::FToS, Elem::F32, Elem::I32), in);
  EXPECT_EQ(s32, (std::vector<int32_t>{1, -1, INT32_MAX, INT32_MIN, 0, INT32_MAX, INT32_MIN, 2147483520}));
  auto u32 = run<uint32_t>(convertKernel(ConvertOp::FToU, Elem::F32, Elem::I32), in);
  EXPECT_EQ(u32, (std::vector<uint32_t>{1, 0, 3000000000u, 0, 0, UINT32_MAX, 0, 2147483520u}));
  auto s8 = run<int8_t>(convertKernel(ConvertOp::FToS, Elem::F32, Elem::I8), in);
  EXPECT_EQ(s8, (std::vector<int8_t>{1, -1, 127, -128, 0, 127, -128, 127}));
  std::vector<double> wide = {9.3e18, -9.3e18, 1.8446744073709552e19, NAN, 2251799813685249.5};
  auto s64 = run<int64_t>(convertKernel(ConvertOp::FToS, Elem::F64, Elem::I64), wide);
  EXPECT_EQ(s64, (std::vector<int64_t>{INT64_MAX, INT64_MIN, INT64_MAX, 0, 2251799813685249}));
  auto u64 = run<uint64_t>(convertKernel(ConvertOp::FToU, Elem::F64, Elem::I64), wide);
  EXPECT_EQ(u64, (std::vector<uint64_t>{9300000000000000000u, 0, UINT64_MAX, 0, 2251799813685249u}));
}

TEST(Convert, IntegersResize) {
  std::vector<uint8_t> bytes = {0, 1, 127, 128, 255};
  EXPECT_EQ(run<int32_t>(convertKernel(ConvertOp::ExtS, Elem::I8, Elem::I32), bytes),
            (std::vector<int32_t>{0, 1, 127, -128, -1}));
  EXPECT_EQ(run<int32_t>(convertKernel(ConvertOp::ExtU, Elem::I8, Elem::I32), bytes),
            (std::vector<int32_t>{0, 1, 127, 128, 255}));
  EXPECT_EQ(run<uint8_t>(convertKernel(ConvertOp::TruncI, Elem::I8, Elem::I1), bytes),
            (std::vector<uint8_t>{0, 1, 1, 0, 1}));
  std::vector<uint8_t> flags = {0, 1};
  EXPECT_EQ(run<int16_t>(convertKernel(ConvertOp::ExtS, Elem::I1, Elem::I16), flags), (std::vector<int16_t>{0, -1}));
  EXPECT_EQ(run<float>(convertKernel(ConvertOp::UToF, Elem::I1, Elem::F32), flags), (std::vector<float>{0, 1}));
  EXPECT_EQ(run<float>(convertKernel(ConvertOp::SToF, Elem::I1, Elem::F32), flags), (std::vector<float>{0, -1}));
}

TEST(Convert, NonsenseHasNoKernel) {
  EXPECT_EQ(convertKernel(ConvertOp::TruncI, Elem::I8, Elem::I32), nullptr);
  EXPECT_EQ(convertKernel(ConvertOp::ExtS, Elem::I32, Elem::I32), nullptr);
  EXPECT_EQ(convertKernel(ConvertOp::Bitcast, Elem::I32, Elem::F16), nullptr);
  EXPECT_EQ(convertKernel(ConvertOp::FToF, Elem::I32, Elem::F32), nullptr);
  EXPECT_EQ(convertKernel(ConvertOp::SToF, Elem::F32, Elem::F32), nullptr);
  EXPECT_EQ(convertKernel(ConvertOp::FToS, Elem::F32, Elem::F32), nullptr);
}

// The result overwrites its own operand, narrower than it.
TEST(Convert, WidensInPlace) {
  constexpr size_t n = 1500;
  std::vector<double> memory(n);
  auto* half = reinterpret_cast<uint16_t*>(memory.data());
  for (size_t i = 0; i < n; ++i) half[i] = static_cast<uint16_t>(0x3c00 + i % 1024);
  convertKernel(ConvertOp::FToF, Elem::F16, Elem::F64)(memory.data(), memory.data(), n);
  for (size_t i = 0; i < n; ++i) ASSERT_EQ(memory[i], 1.0 + static_cast<double>(i % 1024) / 1024);
}

}  // namespace
}  // namespace tandem::interpreter
