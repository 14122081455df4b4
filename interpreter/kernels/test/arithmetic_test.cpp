// Integer and float arithmetic, comparison, selection: edge cases, and all pairs of bytes against plain code.
#include "reference.h"
#include <gtest/gtest.h>

namespace tandem::interpreter {
namespace {

struct Pairs {
  std::vector<uint8_t> a, b;
};
Pairs allPairs() {
  Pairs pairs;
  for (int i = 0; i < 256; ++i)
    for (int j = 0; j < 256; ++j) {
      pairs.a.push_back(static_cast<uint8_t>(i));
      pairs.b.push_back(static_cast<uint8_t>(j));
    }
  return pairs;
}

int floorDiv(int x, int y) { return static_cast<int>(std::floor(double(x) / y)); }
int ceilDiv(int x, int y) { return static_cast<int>(std::ceil(double(x) / y)); }

// The op on bytes in plain int arithmetic.
int byteReference(BinaryOp op, int a, int b) {
  int sa = a > 127 ? a - 256 : a, sb = b > 127 ? b - 256 : b;
  switch (op) {
    case BinaryOp::AddI: return a + b;
    case BinaryOp::SubI: return a - b;
    case BinaryOp::MulI: return a * b;
    case BinaryOp::DivS: return sb == 0 ? -1 : sa / sb;
    case BinaryOp::DivU: return b == 0 ? 255 : a / b;
    case BinaryOp::RemS: return sb == 0 ? sa : sa % sb;
    case BinaryOp::RemU: return b == 0 ? a : a % b;
    case BinaryOp::And: return a & b;
    case BinaryOp::Or: return a | b;
    case BinaryOp::Xor: return a ^ b;
    case BinaryOp::Shl: return b >= 8 ? 0 : a << b;
    case BinaryOp::ShrS: return sa >> (b >= 8 ? 7 : b);
    case BinaryOp::ShrU: return b >= 8 ? 0 : a >> b;
    case BinaryOp::MinS: return std::min(sa, sb);
    case BinaryOp::MinU: return std::min(a, b);
    case BinaryOp::MaxS: return std::max(sa, sb);
    case BinaryOp::MaxU: return std::max(a, b);
    case BinaryOp::MulHiU: return a * b >> 8;
    case BinaryOp::FloorDivS: return sb == 0 ? -1 : floorDiv(sa, sb);
    case BinaryOp::CeilDivS: return sb == 0 ? -1 : ceilDiv(sa, sb);
    case BinaryOp::CeilDivU: return b == 0 ? 255 : ceilDiv(a, b);
    default: return 0;
  }
}

constexpr BinaryOp kIntegerOps[] = {
    BinaryOp::AddI,      BinaryOp::SubI,     BinaryOp::MulI,    BinaryOp::DivS, BinaryOp::DivU, BinaryOp::RemS,
    BinaryOp::RemU,      BinaryOp::And,      BinaryOp::Or,      BinaryOp::Xor,  BinaryOp::Shl,  BinaryOp::ShrS,
    BinaryOp::ShrU,      BinaryOp::MinS,     BinaryOp::MinU,    BinaryOp::MaxS, BinaryOp::MaxU, BinaryOp::MulHiU,
    BinaryOp::FloorDivS, BinaryOp::CeilDivS, BinaryOp::CeilDivU};

TEST(Integer, AllPairsOfBytes) {
  Pairs pairs = allPairs();
  for (BinaryOp op : kIntegerOps) {
    auto out = run<uint8_t>(binaryKernel(op, Elem::I8), pairs.a, pairs.b);
    for (size_t i = 0; i < out.size(); ++i)
      ASSERT_EQ(out[i], static_cast<uint8_t>(byteReference(op, pairs.a[i], pairs.b[i])))
          << int(op) << " " << int(pairs.a[i]) << " " << int(pairs.b[i]);
  }
}

TEST(Integer, LimitsDoNotTrap) {
  std::vector<int32_t> a = {INT32_MIN, INT32_MIN, 7, INT32_MAX}, b = {-1, 0, 0, 1};
  EXPECT_EQ(run<int32_t>(binaryKernel(BinaryOp::DivS, Elem::I32), a, b),
            (std::vector<int32_t>{INT32_MIN, -1, -1, INT32_MAX}));
  EXPECT_EQ(run<int32_t>(binaryKernel(BinaryOp::RemS, Elem::I32), a, b), (std::vector<int32_t>{0, INT32_MIN, 7, 0}));
  EXPECT_EQ(run<int32_t>(binaryKernel(BinaryOp::AddI, Elem::I32), a, b),
            (std::vector<int32_t>{INT32_MAX, INT32_MIN, 7, INT32_MIN}));
  std::vector<int64_t> wide = {INT64_MIN, INT64_MIN, -5}, divisor = {-1, 0, 64};
  EXPECT_EQ(run<int64_t>(binaryKernel(BinaryOp::DivS, Elem::I64), wide, divisor),
            (std::vector<int64_t>{INT64_MIN, -1, 0}));
  EXPECT_EQ(run<int64_t>(binaryKernel(BinaryOp::ShrS, Elem::I64), wide, divisor),
            (std::vector<int64_t>{-1, INT64_MIN, -1}));
  EXPECT_EQ(run<int64_t>(binaryKernel(BinaryOp::Shl, Elem::I64), wide, divisor),
            (std::vector<int64_t>{0, INT64_MIN, 0}));
  std::vector<uint16_t> big = {0xffff};
  EXPECT_EQ(run<uint16_t>(binaryKernel(BinaryOp::MulI, Elem::I16), big, big), (std::vector<uint16_t>{1}));
  EXPECT_EQ(run<int32_t>(unaryKernel(UnaryOp::AbsI, Elem::I32), a),
            (std::vector<int32_t>{INT32_MIN, INT32_MIN, 7, INT32_MAX}));
}

TEST(Integer, CountsBits) {
  std::vector<uint16_t> a = {0, 1, 0x8000, 0x00f0};
  EXPECT_EQ(run<uint16_t>(unaryKernel(UnaryOp::Ctlz, Elem::I16), a), (std::vector<uint16_t>{16, 15, 0, 8}));
  EXPECT_EQ(run<uint16_t>(unaryKernel(UnaryOp::Cttz, Elem::I16), a), (std::vector<uint16_t>{16, 0, 15, 4}));
  EXPECT_EQ(run<uint16_t>(unaryKernel(UnaryOp::Ctpop, Elem::I16), a), (std::vector<uint16_t>{0, 1, 1, 4}));
}

TEST(Integer, SignedTrueIsMinusOne) {
  std::vector<uint8_t> a = {0, 0, 1, 1}, b = {0, 1, 0, 1};
  EXPECT_EQ(run<uint8_t>(binaryKernel(BinaryOp::AddI, Elem::I1), a, b), (std::vector<uint8_t>{0, 1, 1, 0}));
  EXPECT_EQ(run<uint8_t>(binaryKernel(BinaryOp::MaxS, Elem::I1), a, b), (std::vector<uint8_t>{0, 0, 0, 1}));
  EXPECT_EQ(run<uint8_t>(binaryKernel(BinaryOp::MaxU, Elem::I1), a, b), (std::vector<uint8_t>{0, 1, 1, 1}));
  EXPECT_EQ(run<uint8_t>(compareKernel(CompareOp::SLt, Elem::I1), a, b), (std::vector<uint8_t>{0, 0, 1, 0}));
  EXPECT_EQ(run<uint8_t>(compareKernel(CompareOp::ULt, Elem::I1), a, b), (std::vector<uint8_t>{0, 1, 0, 0}));
}

TEST(Integer, ExtendedProducts) {
  std::vector<int64_t> a = {INT64_MIN, -1, 1234567890123}, b = {2, -1, 987654321987}, low(3), high(3);
  for (bool isSigned : {false, true}) {
    mulExtended(Elem::I64, isSigned, a.data(), b.data(), low.data(), high.data(), 3);
    for (size_t i = 0; i < 3; ++i) {
      unsigned __int128 expected =
          isSigned ? static_cast<unsigned __int128>(static_cast<__int128>(a[i]) * b[i])
                   : static_cast<unsigned __int128>(static_cast<uint64_t>(a[i])) * static_cast<uint64_t>(b[i]);
      EXPECT_EQ(static_cast<uint64_t>(low[i]), static_cast<uint64_t>(expected));
      EXPECT_EQ(static_cast<uint64_t>(high[i]), static_cast<uint64_t>(expected >> 64));
    }
  }
  // The results replace the operands.
  std::vector<int32_t> x = {-3, 100000}, y = {5, 100000};
  mulExtended(Elem::I32, true, x.data(), y.data(), x.data(), y.data(), 2);
  EXPECT_EQ(x, (std::vector<int32_t>{-15, 1410065408}));
  EXPECT_EQ(y, (std::vector<int32_t>{-1, 2}));
}

// fp16 sums, products and quotients of random codes: the double result rounded once.
TEST(Float, HalfArithmeticRoundsOnce) {
  std::mt19937 random(7);
  constexpr size_t n = 20000;
  for (Elem elem : {Elem::F16, Elem::BF16}) {
    std::vector<uint16_t> a(n), b(n), expected(n);
    for (size_t i = 0; i < n; ++i) a[i] = static_cast<uint16_t>(random()), b[i] = static_cast<uint16_t>(random());
    std::vector<double> x = run<double>(convertKernel(ConvertOp::FToF, elem, Elem::F64), a);
    std::vector<double> y = run<double>(convertKernel(ConvertOp::FToF, elem, Elem::F64), b);
    for (BinaryOp op : {BinaryOp::AddF, BinaryOp::SubF, BinaryOp::MulF, BinaryOp::DivF}) {
      std::vector<double> exact(n);
      for (size_t i = 0; i < n; ++i)
        exact[i] = op == BinaryOp::AddF   ? x[i] + y[i]
                   : op == BinaryOp::SubF ? x[i] - y[i]
                   : op == BinaryOp::MulF ? x[i] * y[i]
                                          : x[i] / y[i];
      expected = run<uint16_t>(convertKernel(ConvertOp::FToF, Elem::F64, elem), exact);
      auto out = run<uint16_t>(binaryKernel(op, elem), a, b);
      for (size_t i = 0; i < n; ++i) {
        // bf16 reaches the subnormals of float, where its own last bit is still far away; only those of the quotient
        // round twice.
        if (std::isnan(exact[i]) || (elem == Elem::BF16 && std::fabs(exact[i]) < 0x1p-126)) continue;
        ASSERT_EQ(out[i], expected[i]) << int(elem) << " " << int(op) << " " << x[i] << " " << y[i];
      }
    }
  }
}

template <class T> void expectMinMax(Elem elem) {
  std::vector<T> a = {1, T(NAN), 2, T(-0.0), T(0.0), T(NAN)}, b = {2, 3, T(NAN), T(0.0), T(-0.0), T(NAN)};
  auto minNum = run<T>(binaryKernel(BinaryOp::MinNumF, elem), a, b),
       maxNum = run<T>(binaryKernel(BinaryOp::MaxNumF, elem), a, b);
  auto minimum = run<T>(binaryKernel(BinaryOp::MinimumF, elem), a, b),
       maximum = run<T>(binaryKernel(BinaryOp::MaximumF, elem), a, b);
  EXPECT_EQ(minNum[0], 1);
  EXPECT_EQ(maxNum[0], 2);
  EXPECT_EQ(minNum[1], 3);
  EXPECT_EQ(maxNum[2], 2);
  for (int i : {3, 4}) {
    EXPECT_TRUE(std::signbit(minNum[i]) && std::signbit(minimum[i]));
    EXPECT_FALSE(std::signbit(maxNum[i]) || std::signbit(maximum[i]));
  }
  EXPECT_TRUE(std::isnan(minNum[5]) && std::isnan(maxNum[5]));
  EXPECT_TRUE(std::isnan(minimum[1]) && std::isnan(minimum[2]) && std::isnan(maximum[1]) && std::isnan(maximum[2]));
}
TEST(Float, MinimaOfNanAndZero) {
  expectMinMax<float>(Elem::F32);
  expectMinMax<double>(Elem::F64);
}

TEST(Float, ClampSelectFma) {
  std::vector<float> x = {-5, 0.5f, 5, NAN}, low(4, -1), high(4, 1), out(4);
  clampKernel(Elem::F32, false)(x.data(), low.data(), high.data(), out.data(), 4);
  EXPECT_EQ(out, (std::vector<float>{-1, 0.5f, 1, -1}));
  clampKernel(Elem::F32, true)(x.data(), low.data(), high.data(), out.data(), 4);
  EXPECT_TRUE(std::isnan(out[3]));
  std::vector<float> a = {1 + 0x1p-12f}, c = {-1 - 0x1p-11f}, fused(1);
  fmaKernel(Elem::F32)(a.data(), a.data(), c.data(), fused.data(), 1);
  EXPECT_EQ(fused[0], 0x1p-24f);
  EXPECT_EQ(fmaKernel(Elem::I32), nullptr);
  std::vector<uint8_t> condition = {1, 0, 0, 1};
  selectKernel(Elem::F32)(condition.data(), low.data(), high.data(), out.data(), 4);
  EXPECT_EQ(out, (std::vector<float>{-1, 1, 1, -1}));
}

TEST(Select, MayOverwriteItsCondition) {
  constexpr size_t n = 300;
  std::vector<uint64_t> memory(n), a(n, 11), b(n, 22);
  auto* condition = reinterpret_cast<uint8_t*>(memory.data());
  for (size_t i = 0; i < n; ++i) condition[i] = i % 3 == 0;
  selectKernel(Elem::I64)(memory.data(), a.data(), b.data(), memory.data(), n);
  for (size_t i = 0; i < n; ++i) ASSERT_EQ(memory[i], i % 3 == 0 ? 11u : 22u);
}

TEST(Compare, FloatPredicates) {
  std::vector<float> a = {1, 2, 2, NAN}, b = {2, 1, 2, 1};
  struct Row {
    CompareOp op;
    std::vector<uint8_t> expected;
  };
  const Row rows[] = {{CompareOp::OEq, {0, 0, 1, 0}},  {CompareOp::ONe, {1, 1, 0, 0}},  {CompareOp::OLt, {1, 0, 0, 0}},
                      {CompareOp::OLe, {1, 0, 1, 0}},  {CompareOp::OGt, {0, 1, 0, 0}},  {CompareOp::OGe, {0, 1, 1, 0}},
                      {CompareOp::UEq, {0, 0, 1, 1}},  {CompareOp::UNe, {1, 1, 0, 1}},  {CompareOp::ULtF, {1, 0, 0, 1}},
                      {CompareOp::ULeF, {1, 0, 1, 1}}, {CompareOp::UGtF, {0, 1, 0, 1}}, {CompareOp::UGeF, {0, 1, 1, 1}},
                      {CompareOp::Ord, {1, 1, 1, 0}},  {CompareOp::Uno, {0, 0, 0, 1}}};
  auto half = run<uint16_t>(convertKernel(ConvertOp::FToF, Elem::F32, Elem::F16), a);
  auto halfB = run<uint16_t>(convertKernel(ConvertOp::FToF, Elem::F32, Elem::F16), b);
  for (const Row& row : rows) {
    EXPECT_EQ(run<uint8_t>(compareKernel(row.op, Elem::F32), a, b), row.expected) << int(row.op);
    EXPECT_EQ(run<uint8_t>(compareKernel(row.op, Elem::F16), half, halfB), row.expected) << int(row.op);
    EXPECT_EQ(compareKernel(row.op, Elem::I32), nullptr);
  }
}

TEST(Compare, IntegerPredicates) {
  std::vector<int32_t> a = {-1, 1, 5}, b = {1, -1, 5};
  EXPECT_EQ(run<uint8_t>(compareKernel(CompareOp::SLt, Elem::I32), a, b), (std::vector<uint8_t>{1, 0, 0}));
  EXPECT_EQ(run<uint8_t>(compareKernel(CompareOp::ULt, Elem::I32), a, b), (std::vector<uint8_t>{0, 1, 0}));
  EXPECT_EQ(run<uint8_t>(compareKernel(CompareOp::SGe, Elem::I32), a, b), (std::vector<uint8_t>{0, 1, 1}));
  EXPECT_EQ(run<uint8_t>(compareKernel(CompareOp::UGt, Elem::I32), a, b), (std::vector<uint8_t>{1, 0, 0}));
  EXPECT_EQ(run<uint8_t>(compareKernel(CompareOp::Eq, Elem::I32), a, b), (std::vector<uint8_t>{0, 0, 1}));
  EXPECT_EQ(run<uint8_t>(compareKernel(CompareOp::Ne, Elem::I32), a, b), (std::vector<uint8_t>{1, 1, 0}));
  EXPECT_EQ(compareKernel(CompareOp::SLt, Elem::F32), nullptr);
}

TEST(Rmw, OpsByElement) {
  int32_t memory = 10, value = -3, old = 0;
  EXPECT_TRUE(applyRmw(RmwOp::Add, Elem::I32, &memory, &value, &old));
  EXPECT_EQ(memory, 7);
  EXPECT_EQ(old, 10);
  EXPECT_TRUE(applyRmw(RmwOp::UMax, Elem::I32, &memory, &value, &old));
  EXPECT_EQ(memory, -3);
  EXPECT_TRUE(applyRmw(RmwOp::Max, Elem::I32, &memory, &old, &old));
  EXPECT_EQ(memory, 7);
  float real = 1.5f, added = 0.25f, before = 0;
  EXPECT_TRUE(applyRmw(RmwOp::FAdd, Elem::F32, &real, &added, &before));
  EXPECT_EQ(real, 1.75f);
  EXPECT_TRUE(applyRmw(RmwOp::Xchg, Elem::F32, &real, &added, &before));
  EXPECT_EQ(real, 0.25f);
  EXPECT_EQ(before, 1.75f);
  EXPECT_FALSE(applyRmw(RmwOp::And, Elem::F32, &real, &added, &before));
}

}  // namespace
}  // namespace tandem::interpreter
