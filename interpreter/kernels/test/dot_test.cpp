// Products of every element type against naive sums in double, and microscaled products against unpacked ones.
#include "reference.h"
#include <gtest/gtest.h>

namespace tandem::interpreter {
namespace {

// Random multiples of 1/8 in [-2, 2): exact in every format here.
std::vector<float> randomExact(size_t n, std::mt19937& random) {
  std::vector<float> v(n);
  for (float& x : v) x = static_cast<float>(static_cast<int>(random() % 32) - 16) / 8;
  return v;
}

std::vector<uint8_t> encoded(const std::vector<float>& values, Elem elem) {
  std::vector<uint8_t> bytes(values.size() * byteSize(elem));
  convertKernel(ConvertOp::FToF, Elem::F32, elem)(values.data(), bytes.data(), values.size());
  return bytes;
}
std::vector<float> decoded(const std::vector<uint8_t>& bytes, Elem elem) {
  std::vector<float> values(bytes.size() / byteSize(elem));
  convertKernel(ConvertOp::FToF, elem, Elem::F32)(bytes.data(), values.data(), values.size());
  return values;
}

template <class T>
std::vector<double> naive(const DotDims& d, const std::vector<T>& a, const std::vector<T>& b, const std::vector<T>& c) {
  std::vector<double> out;
  for (int64_t s = 0; s < d.batch; ++s)
    for (int64_t i = 0; i < d.m; ++i)
      for (int64_t j = 0; j < d.n; ++j) {
        double sum = c[(s * d.m + i) * d.n + j];
        for (int64_t k = 0; k < d.k; ++k)
          sum += double(a[(s * d.m + i) * d.k + k]) * double(b[(s * d.k + k) * d.n + j]);
        out.push_back(sum);
      }
  return out;
}

TEST(Dot, EveryFloatAgainstDouble) {
  std::mt19937 random(11);
  for (DotDims d : {DotDims{1, 16, 16, 16}, DotDims{2, 5, 7, 3}, DotDims{1, 64, 64, 32}, DotDims{1, 1, 1, 1},
                    DotDims{3, 33, 8, 129}}) {
    auto a = randomExact(d.batch * d.m * d.k, random), b = randomExact(d.batch * d.k * d.n, random),
         c = randomExact(d.batch * d.m * d.n, random);
    auto expected = naive(d, a, b, c);
    for (Elem elem : {Elem::F32, Elem::F16, Elem::BF16, Elem::F8E4M3FN, Elem::F8E5M2}) {
      // e5m2 cannot hold all of these, so compare with their rounded values.
      auto x = encoded(a, elem), y = encoded(b, elem);
      auto want = naive(d, decoded(x, elem), decoded(y, elem), c);
      std::vector<float> out(c.size());
      ASSERT_TRUE(dot(d, elem, x.data(), elem, y.data(), Elem::F32, c.data(), out.data(), 0));
      for (size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], want[i]) << int(elem);
      auto inPlace = c;
      ASSERT_TRUE(dot(d, elem, x.data(), elem, y.data(), Elem::F32, inPlace.data(), inPlace.data(), 2));
      ASSERT_EQ(inPlace, out);
    }
    auto half = encoded(a, Elem::F16), halfB = encoded(b, Elem::F16), acc = encoded(c, Elem::F16), out = acc;
    ASSERT_TRUE(dot(d, Elem::F16, half.data(), Elem::F16, halfB.data(), Elem::F16, acc.data(), out.data(), 0));
    ASSERT_EQ(out, encoded({expected.begin(), expected.end()}, Elem::F16));
  }
}

TEST(Dot, Tf32DropsBitsAndIeeeKeepsThem) {
  float a = 1 + 0x1p-11f + 0x1p-20f, b = 1, even = 1 + 0x1p-11f, out = 0;
  DotDims one{1, 1, 1, 1};
  dot(one, Elem::F32, &a, Elem::F32, &b, Elem::F32, nullptr, &out, 0);
  EXPECT_EQ(out, 1 + 0x1p-10f);
  dot(one, Elem::F32, &even, Elem::F32, &b, Elem::F32, nullptr, &out, 0);
  EXPECT_EQ(out, 1.0f);
  for (int precision : {1, 2, 3, 4}) {
    dot(one, Elem::F32, &a, Elem::F32, &b, Elem::F32, nullptr, &out, precision);
    EXPECT_EQ(out, a);
  }
}

TEST(Dot, DoublesAndBytes) {
  std::mt19937 random(13);
  DotDims d{2, 9, 17, 40};
  std::vector<double> a(d.batch * d.m * d.k), b(d.batch * d.k * d.n), c(d.batch * d.m * d.n), out(c.size());
  for (auto* v : {&a, &b, &c})
    for (double& x : *v) x = static_cast<double>(random()) / 4e9 - 0.5;
  ASSERT_TRUE(dot(d, Elem::F64, a.data(), Elem::F64, b.data(), Elem::F64, c.data(), out.data(), 0));
  auto expected = naive(d, a, b, c);
  for (size_t i = 0; i < out.size(); ++i) EXPECT_NEAR(out[i], expected[i], 1e-13);

  std::vector<int8_t> x(a.size()), y(b.size());
  std::vector<int32_t> sum(c.size());
  for (auto* v : {&x, &y})
    for (int8_t& e : *v) e = static_cast<int8_t>(random());
  ASSERT_TRUE(dot(d, Elem::I8, x.data(), Elem::I8, y.data(), Elem::I32, nullptr, sum.data(), 0));
  auto whole = naive(d, x, y, std::vector<int8_t>(c.size(), 0));
  for (size_t i = 0; i < sum.size(); ++i) EXPECT_EQ(sum[i], whole[i]);
  EXPECT_FALSE(dot(d, Elem::I8, x.data(), Elem::F32, y.data(), Elem::F32, nullptr, sum.data(), 0));
}

constexpr float kE2M1[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};

// Random 4-bit codes, packed along either dimension, with scales: against the unpacked product.
TEST(DotScaled, PackedAlongEitherDimension) {
  std::mt19937 random(17);
  DotDims d{2, 4, 6, 64};
  for (bool alongK : {true, false}) {
    std::vector<float> a(d.batch * d.m * d.k), b(d.batch * d.k * d.n), c(d.batch * d.m * d.n, 1.0f), out(c.size());
    std::vector<uint8_t> packedA(a.size() / 2), packedB(b.size() / 2), scaleA(d.batch * d.m * 2),
        scaleB(d.batch * d.n * 2);
    for (auto* v : {&scaleA, &scaleB})
      for (uint8_t& s : *v) s = static_cast<uint8_t>(125 + random() % 5);
    for (int64_t s = 0; s < d.batch; ++s) {
      for (int64_t i = 0; i < d.m; ++i)
        for (int64_t k = 0; k < d.k; ++k) {
          uint8_t code = random() % 16;
          int64_t at = alongK ? (s * d.m + i) * d.k / 2 + k / 2 : (s * d.m / 2 + i / 2) * d.k + k;
          packedA[at] |= static_cast<uint8_t>(code << 4 * ((alongK ? k : i) % 2));
          float value = kE2M1[code & 7] * (code & 8 ? -1 : 1);
          a[(s * d.m + i) * d.k + k] = std::ldexp(value, scaleA[(s * d.m + i) * 2 + k / 32] - 127);
        }
      for (int64_t k = 0; k < d.k; ++k)
        for (int64_t j = 0; j < d.n; ++j) {
          uint8_t code = random() % 16;
          int64_t at = alongK ? (s * d.k / 2 + k / 2) * d.n + j : (s * d.k + k) * d.n / 2 + j / 2;
          packedB[at] |= static_cast<uint8_t>(code << 4 * ((alongK ? k : j) % 2));
          float value = kE2M1[code & 7] * (code & 8 ? -1 : 1);
          b[(s * d.k + k) * d.n + j] = std::ldexp(value, scaleB[(s * d.n + j) * 2 + k / 32] - 127);
        }
    }
    dotScaled(d, {MicroScale::E2M1, packedA.data(), scaleA.data(), alongK},
              {MicroScale::E2M1, packedB.data(), scaleB.data(), alongK}, c.data(), out.data());
    auto expected = naive(d, a, b, c);
    for (size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], expected[i]) << alongK;
  }
}

TEST(DotScaled, ScaleLimits) {
  DotDims d{1, 1, 1, 32};
  std::vector<uint8_t> ones(32, 0x38);  // 1.0 in e4m3
  std::vector<uint16_t> half(32, 0x3c00);
  float out = 0;
  uint8_t scale = 255, least = 0, up = 128;
  dotScaled(d, {MicroScale::E4M3, ones.data(), &scale, true}, {MicroScale::Fp16, half.data(), nullptr, true}, nullptr,
            &out);
  EXPECT_TRUE(std::isnan(out));
  dotScaled(d, {MicroScale::E4M3, ones.data(), &least, true}, {MicroScale::Fp16, half.data(), nullptr, true}, nullptr,
            &out);
  EXPECT_EQ(out, 0x1p-122f);
  dotScaled(d, {MicroScale::E4M3, ones.data(), nullptr, true}, {MicroScale::Fp16, half.data(), &up, true}, nullptr,
            &out);
  EXPECT_EQ(out, 64.0f);
  uint8_t pair[] = {0x40, 0x30};  // 2 and 0.5 in e4m3, for 16 elements each
  dotScaled(d, {MicroScale::E4M3, ones.data(), pair, true, Elem::F8E4M3FN},
            {MicroScale::Fp16, half.data(), nullptr, true}, nullptr, &out);
  EXPECT_EQ(out, 40.0f);
}

}  // namespace
}  // namespace tandem::interpreter
