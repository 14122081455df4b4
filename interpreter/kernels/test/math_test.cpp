// Elementary functions: floats within 2 ulp of the double result over their whole range, special values, other formats.
#include "reference.h"
#include <gtest/gtest.h>

namespace tandem::interpreter {
namespace {

struct Function {
  const char* name;
  UnaryOp op;
  double (*reference)(double);
};
const Function kFunctions[] = {{"exp", UnaryOp::Exp, std::exp},
                               {"exp2", UnaryOp::Exp2, std::exp2},
                               {"expm1", UnaryOp::ExpM1, std::expm1},
                               {"log", UnaryOp::Log, std::log},
                               {"log2", UnaryOp::Log2, std::log2},
                               {"log10", UnaryOp::Log10, std::log10},
                               {"log1p", UnaryOp::Log1p, std::log1p},
                               {"sin", UnaryOp::Sin, std::sin},
                               {"cos", UnaryOp::Cos, std::cos},
                               {"tan", UnaryOp::Tan, std::tan},
                               {"tanh", UnaryOp::Tanh, std::tanh},
                               {"sinh", UnaryOp::Sinh, std::sinh},
                               {"cosh", UnaryOp::Cosh, std::cosh},
                               {"asin", UnaryOp::Asin, std::asin},
                               {"acos", UnaryOp::Acos, std::acos},
                               {"atan", UnaryOp::Atan, std::atan},
                               {"asinh", UnaryOp::Asinh, std::asinh},
                               {"acosh", UnaryOp::Acosh, std::acosh},
                               {"atanh", UnaryOp::Atanh, std::atanh},
                               {"erf", UnaryOp::Erf, std::erf},
                               {"erfc", UnaryOp::Erfc, std::erfc},
                               {"cbrt", UnaryOp::Cbrt, std::cbrt},
                               {"sqrt", UnaryOp::Sqrt, std::sqrt},
                               {"rsqrt", UnaryOp::Rsqrt, [](double x) { return 1 / std::sqrt(x); }},
                               {"ceil", UnaryOp::Ceil, std::ceil},
                               {"floor", UnaryOp::Floor, std::floor},
                               {"trunc", UnaryOp::Trunc, std::trunc},
                               {"round", UnaryOp::Round, std::round},
                               {"roundeven", UnaryOp::RoundEven, std::nearbyint},
                               {"negate", UnaryOp::NegF, [](double x) { return -x; }},
                               {"abs", UnaryOp::AbsF, std::fabs}};

// One float in 4001, all signs and exponents, NaN and infinity among them; and some near 1 and 0.
std::vector<float> samples() {
  std::vector<float> v = {0.0f, -0.0f, INFINITY, -INFINITY, NAN,     1.0f,    -1.0f,  0.5f,
                          2.5f, -2.5f, 88.72f,   -103.9f,   -104.1f, 127.99f, -149.0f};
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 4001) {
    float x;
    auto low = static_cast<uint32_t>(bits);
    std::memcpy(&x, &low, 4);
    v.push_back(x);
  }
  for (int i = -20000; i < 20000; ++i) v.push_back(static_cast<float>(i) * 0.00731f);
  for (int i = -20000; i < 20000; ++i) v.push_back(1.0f + static_cast<float>(i) * 1e-6f);
  return v;
}

TEST(Math, FloatsWithinTwoUlps) {
  std::vector<float> in = samples();
  for (const Function& f : kFunctions) {
    auto out = run<float>(unaryKernel(f.op, Elem::F32), in);
    for (size_t i = 0; i < in.size(); ++i) {
      auto expected = static_cast<float>(f.reference(in[i]));
      ASSERT_LE(ulps(out[i], expected), 2) << f.name << "(" << in[i] << ") = " << out[i] << ", not " << expected;
    }
  }
}

TEST(Math, FastFormsWithinOneUlp) {
  std::vector<float> in = samples();
  for (const Function& f : kFunctions) {
    bool fast = f.op == UnaryOp::Exp || f.op == UnaryOp::Exp2 || f.op == UnaryOp::Log || f.op == UnaryOp::Log2 ||
                f.op == UnaryOp::Log10 || f.op == UnaryOp::Tanh || f.op == UnaryOp::Erf || f.op == UnaryOp::Sin ||
                f.op == UnaryOp::Cos;
    if (!fast) continue;
    auto out = run<float>(unaryKernel(f.op, Elem::F32), in);
    for (size_t i = 0; i < in.size(); ++i)
      ASSERT_LE(ulps(out[i], static_cast<float>(f.reference(in[i]))), 1) << f.name << "(" << in[i] << ")";
  }
}

// The block that holds only moderate arguments takes the vector form of sine and cosine.
TEST(Math, SineOfModerateArguments) {
  std::vector<float> in;
  for (int i = 0; i < 60000; ++i) in.push_back(static_cast<float>(std::pow(1.0004, i - 25000) * (i % 2 ? 1 : -1)));
  for (float& x : in) x = std::fabs(x) > 1048576.0f ? 3.0f : x;
  auto sine = run<float>(unaryKernel(UnaryOp::Sin, Elem::F32), in),
       cosine = run<float>(unaryKernel(UnaryOp::Cos, Elem::F32), in);
  for (size_t i = 0; i < in.size(); ++i) {
    ASSERT_LE(ulps(sine[i], static_cast<float>(std::sin(double{in[i]}))), 1) << in[i];
    ASSERT_LE(ulps(cosine[i], static_cast<float>(std::cos(double{in[i]}))), 1) << in[i];
  }
}

TEST(Math, DoublesAreTheLibrarys) {
  std::vector<double> in = {0.25, 1.0, 3.5, -2.0, 1e-9};
  for (const Function& f : kFunctions) {
    auto out = run<double>(unaryKernel(f.op, Elem::F64), in);
    for (size_t i = 0; i < in.size(); ++i) {
      double expected = f.reference(in[i]);
      if (!std::isnan(expected))
        EXPECT_DOUBLE_EQ(out[i], expected) << f.name;
      else
        EXPECT_TRUE(std::isnan(out[i])) << f.name;
    }
  }
}

TEST(Math, HalvesRoundTheFloatResult) {
  std::vector<uint16_t> in(65536);
  for (uint32_t i = 0; i < 65536; ++i) in[i] = static_cast<uint16_t>(i);
  auto floats = run<float>(convertKernel(ConvertOp::FToF, Elem::F16, Elem::F32), in);
  auto expected = run<uint16_t>(convertKernel(ConvertOp::FToF, Elem::F32, Elem::F16),
                                run<float>(unaryKernel(UnaryOp::Exp, Elem::F32), floats));
  EXPECT_EQ(run<uint16_t>(unaryKernel(UnaryOp::Exp, Elem::F16), in), expected);
}

TEST(Math, Classifies) {
  std::vector<float> in = {1, INFINITY, -INFINITY, NAN, 0};
  EXPECT_EQ(run<uint8_t>(unaryKernel(UnaryOp::IsNan, Elem::F32), in), (std::vector<uint8_t>{0, 0, 0, 1, 0}));
  EXPECT_EQ(run<uint8_t>(unaryKernel(UnaryOp::IsInf, Elem::F32), in), (std::vector<uint8_t>{0, 1, 1, 0, 0}));
  EXPECT_EQ(run<uint8_t>(unaryKernel(UnaryOp::IsFinite, Elem::F32), in), (std::vector<uint8_t>{1, 0, 0, 0, 1}));
  EXPECT_EQ(unaryKernel(UnaryOp::Exp, Elem::I32), nullptr);
  EXPECT_EQ(unaryKernel(UnaryOp::Ctpop, Elem::F32), nullptr);
}

}  // namespace
}  // namespace tandem::interpreter
