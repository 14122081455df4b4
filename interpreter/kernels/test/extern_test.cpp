// The device library: signatures, identities between inverse functions, published values, rounding modes, integer
// functions.
#include "reference.h"
#include <gtest/gtest.h>
#include <climits>

namespace tandem::interpreter {
namespace {

template <class R, class... A> R call(const std::string& symbol, Elem first, A... args) {
  ExternKernel kernel = externKernel(symbol, first, sizeof...(A));
  EXPECT_NE(kernel, nullptr) << symbol;
  const void* operands[] = {&args...};
  R result{};
  if (kernel) kernel(operands, &result, 1);
  return result;
}
template <class... A> double f64(const std::string& name, A... args) {
  return call<double>("__nv_" + name, externSignature("__nv_" + name).value().operands.front(), args...);
}
template <class... A> int32_t i32(const std::string& name, A... args) {
  return call<int32_t>("__nv_" + name, Elem::I32, args...);
}

TEST(Extern, Signatures) {
  ExternSignature powi = externSignature("__nv_powif").value();
  EXPECT_EQ(powi.operands, (std::vector<Elem>{Elem::F32, Elem::I32}));
  EXPECT_EQ(powi.result, Elem::F32);
  EXPECT_EQ(externSignature("__nv_llrint").value().result, Elem::I64);
  EXPECT_EQ(externSignature("__nv_isnanf").value().result, Elem::I32);
  EXPECT_EQ(externSignature("__nv_float2half_rn").value().result, Elem::I16);
  EXPECT_FALSE(externSignature("__nv_sincosf"));
  EXPECT_EQ(externKernel("__nv_sinf", Elem::F64, 1), nullptr);
  EXPECT_EQ(externKernel("__nv_sinf", Elem::F32, 2), nullptr);
  EXPECT_EQ(externKernel("sinf", Elem::F32, 1), nullptr);
  for (const std::string& symbol : externSymbols()) {
    ExternSignature s = externSignature(symbol).value();
    EXPECT_NE(externKernel(symbol, s.operands.front(), static_cast<int>(s.operands.size())), nullptr) << symbol;
  }
}

// Every function runs on unusual operands, so that a sanitizer sees them all; a second run gives the same results.
TEST(Extern, AllSurviveUnusualOperands) {
  const double reals[] = {0.0, -0.0, 1.5, -3.25, 1e300, -1e300, 1e-310, INFINITY, -INFINITY, NAN, 0.5, 2.0};
  const int64_t integers[] = {0, 1, -1, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 37};
  std::mt19937 random(1);
  for (const std::string& symbol : externSymbols()) {
    ExternSignature s = externSignature(symbol).value();
    if (symbol.find("_nv_jn") != std::string::npos || symbol.find("_nv_yn") != std::string::npos) continue;
    constexpr size_t n = 64;
    std::vector<std::vector<uint64_t>> data(s.operands.size(), std::vector<uint64_t>(n));
    std::vector<const void*> operands;
    for (size_t k = 0; k < data.size(); ++k) {
      uint32_t width = byteSize(s.operands[k]);
      for (size_t i = 0; i < n; ++i) {
        double real = reals[random() % std::size(reals)];
        auto single = static_cast<float>(real);
        int64_t integer = integers[random() % std::size(integers)];
        const void* bits = s.operands[k] == Elem::F64   ? static_cast<const void*>(&real)
                           : s.operands[k] == Elem::F32 ? static_cast<const void*>(&single)
                                                        : &integer;
        std::memcpy(reinterpret_cast<char*>(data[k].data()) + i * width, bits, width);
      }
      operands.push_back(data[k].data());
    }
    std::vector<uint64_t> first(n), second(n);
    ExternKernel kernel = externKernel(symbol, s.operands.front(), static_cast<int>(s.operands.size()));
    kernel(operands.data(), first.data(), n);
    kernel(operands.data(), second.data(), n);
    EXPECT_EQ(first, second) << symbol;
  }
}

TEST(Extern, PublishedValues) {
  EXPECT_NEAR(f64("erfinv", 0.5), 0.47693627620446987, 1e-15);
  EXPECT_NEAR(f64("erfcinv", 1e-10), 4.572824967389486, 1e-13);
  EXPECT_NEAR(f64("normcdf", -10.0) / 7.619853024160526e-24, 1.0, 1e-14);
  EXPECT_NEAR(f64("normcdfinv", 0.975), 1.959963984540054, 1e-14);
  EXPECT_NEAR(f64("erfcx", 1.0), 0.427583576155807, 1e-14);
  EXPECT_NEAR(f64("erfcx", 100.0), 0.005641613782989433, 1e-17);
  EXPECT_NEAR(f64("cyl_bessel_i0", 1.0), 1.2660658777520084, 1e-15);
  EXPECT_NEAR(f64("cyl_bessel_i1", -1.0), -0.5651591039924851, 1e-15);
  EXPECT_NEAR(f64("cyl_bessel_i0", 100.0) / 1.0737517071310738e42, 1.0, 1e-13);
  EXPECT_NEAR(f64("cyl_bessel_i1", 100.0) / 1.0683693903381624e42, 1.0, 1e-13);
  EXPECT_NEAR(f64("j0", 1.0), 0.7651976865579666, 1e-15);
  EXPECT_NEAR(f64("lgamma", 10.0), std::log(362880.0), 1e-13);
  EXPECT_NEAR(f64("tgamma", 5.0), 24.0, 1e-12);
  EXPECT_EQ(f64("sinpi", 1.0), 0.0);
  EXPECT_EQ(f64("sinpi", 0.5), 1.0);
  EXPECT_EQ(f64("cospi", 1e15 + 1), -1.0);
  EXPECT_EQ(f64("powi", -2.0, int32_t{3}), -8.0);
  EXPECT_EQ(f64("exp10", 3.0), 1000.0);
  EXPECT_EQ(f64("rnorm4d", 1.0, 1.0, 1.0, 1.0), 0.5);
}

TEST(Extern, InversesInvert) {
  for (double y = -5.0; y <= 5.0; y += 0.0137) {
    EXPECT_NEAR(f64("erfcinv", std::erfc(y)) - y, 0, 1e-13 * std::exp(y < 0 ? y * y : 0)) << y;
    if (std::fabs(y) < 2) EXPECT_NEAR(f64("erfinv", std::erf(y)), y, 2e-14) << y;
  }
  for (double y = 5.0; y < 26.0; y += 0.31) EXPECT_NEAR(f64("erfcinv", std::erfc(y)) / y, 1, 1e-13) << y;
}

// The two forms of a function agree where one takes over from the other.
TEST(Extern, FormsMeet) {
  for (auto [name, at] : {std::pair{"erfcx", 8.0}, {"cyl_bessel_i0", 40.0}, {"cyl_bessel_i1", 40.0}}) {
    double below = f64(name, std::nextafter(at, 0)), above = f64(name, std::nextafter(at, 100));
    EXPECT_NEAR(below / above, 1.0, 2e-14) << name;
  }
}

TEST(Extern, FloatFormsAreAccurate) {
  std::vector<float> in;
  for (int i = -3000; i < 3000; ++i) in.push_back(static_cast<float>(i) * 0.01f);
  auto check = [&](const std::string& name, double (*reference)(double)) {
    std::vector<float> out(in.size());
    const void* operands[] = {in.data()};
    ExternKernel kernel = externKernel("__nv_" + name, Elem::F32, 1);
    ASSERT_NE(kernel, nullptr) << name;
    kernel(operands, out.data(), in.size());
    for (size_t i = 0; i < in.size(); ++i)
      EXPECT_LE(ulps(out[i], static_cast<float>(reference(in[i]))), 2) << name << " " << in[i];
  };
  check("expf", std::exp);
  check("fast_expf", std::exp);
  check("tanhf", std::tanh);
  check("logf", std::log);
  check("exp10f", [](double x) { return std::pow(10.0, x); });
  check("fast_sinf", std::sin);
  check("erff", std::erf);
  check("rsqrtf", [](double x) { return 1 / std::sqrt(x); });
  check("lgammaf", std::lgamma);
}

TEST(Extern, RoundingModes) {
  float one = 1, tiny = 0x1p-30f;
  auto add = [&](const char* mode, float a, float b) {
    return call<float>(std::string("__nv_fadd_") + mode, Elem::F32, a, b);
  };
  EXPECT_EQ(add("rn", one, tiny), 1.0f);
  EXPECT_EQ(add("ru", one, tiny), 1 + 0x1p-23f);
  EXPECT_EQ(add("rz", one, -tiny), 1 - 0x1p-24f);
  EXPECT_EQ(add("rd", -one, -tiny), -1 - 0x1p-23f);
  EXPECT_LT(f64("ddiv_rd", 1.0, 3.0), f64("ddiv_ru", 1.0, 3.0));
  EXPECT_EQ(f64("fma_rz", 1 + 0x1p-52, 1 + 0x1p-52, 0.0), 1 + 0x1p-51);
  EXPECT_EQ(f64("fma_ru", 1 + 0x1p-52, 1 + 0x1p-52, 0.0), 1 + 0x1.8p-51);
  auto whole = [&](const char* name, float x) {
    return call<int32_t>(std::string("__nv_float2int_") + name, Elem::F32, x);
  };
  EXPECT_EQ(whole("rn", 2.5f), 2);
  EXPECT_EQ(whole("rz", -2.5f), -2);
  EXPECT_EQ(whole("rd", -2.5f), -3);
  EXPECT_EQ(whole("ru", 2.1f), 3);
  EXPECT_EQ(whole("rn", 1e20f), INT32_MAX);
  EXPECT_EQ(whole("rn", NAN), 0);
  EXPECT_EQ(call<float>("__nv_int2float_rz", Elem::I32, int32_t{16777217 * 2 + 1}), 33554432.0f);
  EXPECT_EQ(call<float>("__nv_int2float_ru", Elem::I32, int32_t{33554435}), 33554436.0f);
  EXPECT_FALSE(std::signbit(call<double>("__nv_ull2double_rd", Elem::I64, uint64_t{0})));
  EXPECT_EQ(call<double>("__nv_ull2double_ru", Elem::I64, UINT64_MAX), 18446744073709551616.0);
  // The mode does not outlive the call.
  volatile float third = 1.0f;
  EXPECT_EQ(third / 3.0f, 0x1.555556p-2f);
}

TEST(Extern, Integers) {
  EXPECT_EQ(i32("clz", int32_t{1}), 31);
  EXPECT_EQ(i32("ffs", int32_t{8}), 4);
  EXPECT_EQ(i32("ffs", int32_t{0}), 0);
  EXPECT_EQ(i32("brev", int32_t{1}), INT32_MIN);
  EXPECT_EQ(i32("byte_perm", int32_t{0x33221100}, int32_t{0x77665544}, int32_t{0x0246}), 0x00224466);
  EXPECT_EQ(i32("mulhi", int32_t{-1}, int32_t{1}), -1);
  EXPECT_EQ(i32("umulhi", int32_t{-1}, int32_t{2}), 1);
  EXPECT_EQ(i32("mul24", int32_t{0xffffff}, int32_t{5}), -5);
  EXPECT_EQ(i32("sad", int32_t{INT32_MIN}, int32_t{INT32_MAX}, int32_t{1}), 0);
  EXPECT_EQ(i32("usad", int32_t{3}, int32_t{5}, int32_t{10}), 12);
  EXPECT_EQ(i32("hadd", int32_t{-3}, int32_t{0}), -2);
  EXPECT_EQ(i32("rhadd", int32_t{INT32_MAX}, int32_t{INT32_MAX}), INT32_MAX);
  EXPECT_EQ(i32("abs", int32_t{INT32_MIN}), INT32_MIN);
  EXPECT_EQ(call<int64_t>("__nv_mul64hi", Elem::I64, INT64_MIN, int64_t{2}), -1);
  EXPECT_EQ(call<int32_t>("__nv_float_as_int", Elem::F32, 1.0f), 0x3f800000);
  EXPECT_EQ(f64("hiloint2double", int32_t{0x3ff00000}, int32_t{0}), 1.0);
  EXPECT_EQ(call<int32_t>("__nv_ilogbf", Elem::F32, 0.0f), INT_MIN);
  EXPECT_EQ(call<int32_t>("__nv_ilogb", Elem::F64, double(INFINITY)), INT_MAX);
}

}  // namespace
}  // namespace tandem::interpreter
