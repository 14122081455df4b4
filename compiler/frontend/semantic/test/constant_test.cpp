// Constants of compile time: Python's arithmetic, comparisons, text and positions of errors.
#include "compiler/frontend/semantic/format_spec.h"
#include "compiler/frontend/semantic/number_text.h"
#include "compiler/frontend/semantic/test/kernel.h"
#include <limits>

namespace tandem::frontend::semantic {
namespace {

using Constants = Kernel;

Value number(double value) { return value; }
Value integer(int64_t value) { return Int(value); }

TEST_F(Constants, FoldByPythonsRules) {
  struct Row {
    Value lhs;
    const char* op;
    Value rhs;
    const char* result;
  };
  const double inf = std::numeric_limits<double>::infinity();
  const Row rows[] = {
      {integer(7), "//", integer(-2), "-4"},
      {integer(-7), "//", integer(2), "-4"},
      {integer(-7), "%", integer(3), "2"},
      {integer(7), "%", integer(-3), "-2"},
      {integer(6), "/", integer(4), "1.5"},
      {integer(6), "/", integer(3), "2.0"},
      {integer(2), "**", integer(62), "4611686018427387904"},
      {integer(2), "**", integer(-2), "0.25"},
      {integer(-1), ">>", integer(200), "-1"},
      {integer(1), "<<", integer(63), "9223372036854775808"},
      {integer(12), "&", integer(10), "8"},
      {integer(12), "|", integer(10), "14"},
      {integer(12), "^", integer(10), "6"},
      {true, "+", true, "2"},
      {true, "&", false, "False"},
      {true, "&", integer(3), "1"},
      {number(-7.5), "//", integer(2), "-4.0"},
      {number(-7.5), "%", integer(2), "0.5"},
      {number(5.5), "%", integer(-2), "-0.5"},
      {number(0.1), "+", number(0.2), "0.30000000000000004"},
      {integer(1), "-", number(inf), "-inf"},
      {std::string("a"), "+", std::string("b"), "'ab'"},
      {std::string("ab"), "*", integer(2), "'abab'"},
      {list({integer(1)}), "+", list({number(2)}), "(1, 2.0)"},
      {integer(2), "*", list({integer(1)}), "(1, 1)"},
      {integer(1), "/", integer(0), "division by zero in 1 / 0"},
      {integer(1), "%", integer(0), "division by zero in 1 % 0"},
      {number(1), "//", number(0), "division by zero in 1.0 // 0.0"},
      {integer(0), "**", integer(-1), "division by zero in 0 ** -1"},
      {integer(1), "<<", integer(-1), "negative shift count in 1 << -1"},
      {integer(1), "<<", integer(127), "the result of 1 << 127 is too large"},
      {integer(3), "**", integer(100), "the result of 3 ** 100 is too large"},
      {number(-8), "**", number(0.5), "-8.0 ** 0.5 is a complex number"},
      {number(1.5), "&", integer(1), "unsupported operands of `&`: constexpr 1.5 and constexpr 1"},
      {None{}, "+", integer(1), "unsupported operands of `+`: `None` and constexpr 1"},
      {std::string("ab"), "*", integer(int64_t(1) << 40),
       "repeating 2 elements 1099511627776 times gives more than 1048576"},
  };
  for (const Row& row : rows)
    EXPECT_EQ(outcome([&] { return binary(context, binaryOp(row.op), row.lhs, row.rhs); }), row.result)
        << repr(row.lhs) << row.op << repr(row.rhs);
}

TEST_F(Constants, CompareByPythonsRules) {
  struct Row {
    Value lhs;
    const char* op;
    Value rhs;
    const char* result;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Row rows[] = {
      {integer(1), "==", number(1), "True"},
      {true, "==", integer(1), "True"},
      {integer(2), "<", number(2.5), "True"},
      {number(nan), "==", number(nan), "False"},
      {number(nan), ">=", number(nan), "False"},
      {number(nan), "!=", number(nan), "True"},
      {std::string("ab"), "<", std::string("b"), "True"},
      {std::string("a"), "==", integer(1), "False"},
      {None{}, "is", None{}, "True"},
      {integer(1), "is not", None{}, "True"},
      {fp16, "==", fp16, "True"},
      {fp16, "!=", fp32, "True"},
      {integer(2), "in", list({integer(1), integer(2)}), "True"},
      {std::string("b"), "in", std::string("abc"), "True"},
      {integer(5), "not in", list({}), "True"},
      {list({integer(1), integer(2)}), "<", list({integer(1), integer(3)}), "True"},
      {list({integer(1)}), "==", list({integer(1), integer(3)}), "False"},
      {integer(1), "<", std::string("a"), "unsupported operands of `<`: constexpr 1 and constexpr 'a'"},
      {integer(1), "in", integer(2), "unsupported operands of `in`: constexpr 1 and constexpr 2"},
  };
  for (const Row& row : rows)
    EXPECT_EQ(outcome([&] { return compare(context, compareOp(row.op), row.lhs, row.rhs); }), row.result)
        << repr(row.lhs) << row.op << repr(row.rhs);
}

TEST_F(Constants, UnaryAndTruth) {
  EXPECT_EQ(repr(unary(context, ast::UnaryOp::Neg, true)), "-1");
  EXPECT_EQ(repr(unary(context, ast::UnaryOp::Invert, integer(5))), "-6");
  EXPECT_EQ(repr(unary(context, ast::UnaryOp::Not, std::string())), "True");
  EXPECT_EQ(errorOf([&] { unary(context, ast::UnaryOp::Invert, number(1)); }),
            "unsupported operand of unary `~`: constexpr 1.0");
  EXPECT_FALSE(truth(context, None{}));
  EXPECT_TRUE(truth(context, list({None{}})));
  EXPECT_EQ(errorOf([&] { truth(context, arg("int32")); }),
            "the truth of a `int32` tensor is not known when the kernel is compiled");
}

TEST(Text, NumbersAsPythonShowsThem) {
  const std::pair<double, const char*> rows[] = {{1, "1.0"},
                                                 {0.1, "0.1"},
                                                 {1e16, "1e+16"},
                                                 {1e15, "1000000000000000.0"},
                                                 {1e-4, "0.0001"},
                                                 {1e-5, "1e-05"},
                                                 {-0.0, "-0.0"},
                                                 {1.5e300, "1.5e+300"},
                                                 {INFINITY, "inf"},
                                                 {NAN, "nan"},
                                                 {123456.789, "123456.789"}};
  for (auto [value, text] : rows) EXPECT_EQ(floatText(value), text);
  EXPECT_EQ(intText(__int128(1) << 100), "1267650600228229401496703205376");
  EXPECT_EQ(intText(-((__int128(1) << 126) - 1) * 2 - 2), "-170141183460469231731687303715884105728");
}

TEST(Text, TypesByTritonsWords) {
  const std::pair<const char*, const char*> rows[] = {{"i32", "int32"},
                                                      {"u8", "uint8"},
                                                      {"float16", "fp16"},
                                                      {"bfloat16", "bf16"},
                                                      {"*fp16", "pointer<fp16>"},
                                                      {"**i64", "pointer<pointer<int64>>"},
                                                      {"pointer<fp32>", "pointer<fp32>"},
                                                      {"float8e5", "fp8e5"},
                                                      {"i1", "int1"}};
  for (auto [word, name] : rows) EXPECT_EQ(DType::parse(word).value().name(), name);
  for (const char* word : {"", "int", "fp17", "fp16*", "*"}) EXPECT_FALSE(DType::parse(word)) << word;
}

TEST_F(Constants, AreDescribed) {
  EXPECT_EQ(describe(arg("fp16", {64, 32})), "`fp16[64, 32]` tensor");
  EXPECT_EQ(describe(arg("i32", {}, 4)), "`vector<4xint32>` tensor");
  EXPECT_EQ(describe(integer(64)), "constexpr 64");
  EXPECT_EQ(describe(Foreign{"module `os`"}), "module `os`");
  EXPECT_EQ(repr(list({std::string("it's"), fp16, None{}})), "(\"it's\", fp16, None)");
  EXPECT_EQ(repr(list({integer(1)})), "(1,)");
}

TEST_F(Constants, BecomeTheTensorTritonMakes) {
  const std::pair<Value, const char*> rows[] = {
      {true, "int1"},
      {integer(5), "int32"},
      {integer(int64_t(1) << 31), "uint32"},
      {integer(-(int64_t(1) << 31) - 1), "int64"},
      {Int((Int(1) << 64) - 1), "uint64"},
      {number(1.5), "fp32"},
      {number(1e300), "fp64"},
      {number(1e-40), "fp64"},
      {Int(Int(1) << 64), "integer 18446744073709551616 does not fit in 64 bits"}};
  for (const auto& [value, type] : rows)
    EXPECT_EQ(outcome([&] { return toTensor(context, value); }), type) << repr(value);
  EXPECT_EQ(errorOf([&] { constant(context, integer(200), {Scalar::Int8}); }), "scalar 200 is out of range of `int8`");
  EXPECT_EQ(errorOf([&] { constant(context, number(1.5), int32); }), "cannot make an `int32` of 1.5");
  EXPECT_EQ(outcome([&] { return full(context, {4}, integer(-1), {Scalar::Int8}); }), "int8[4]");
  EXPECT_EQ(outcome([&] { return full(context, {}, number(-INFINITY), fp16); }), "fp16");
}

TEST_F(Constants, AreDemandedByName) {
  EXPECT_EQ(constexprInt(context, integer(3), "n"), 3);
  EXPECT_EQ(errorOf([&] { constexprInt(context, arg("int32"), "n"); }),
            "`n` must be an integer known when the kernel is compiled, not a `int32` tensor");
  EXPECT_EQ(errorOf([&] { constexprString(context, integer(1), "sem"); }), "`sem` must be a string, not constexpr 1");
  EXPECT_EQ(constexprDType(context, std::string("fp16"), "dtype"), fp16);
  EXPECT_EQ(constexprShape(context, list({integer(4), integer(8)}), "shape"), (std::vector<int64_t>{4, 8}));
  EXPECT_EQ(constexprShape(context, integer(16), "shape"), (std::vector<int64_t>{16}));
  EXPECT_EQ(errorOf([&] { constexprShape(context, list({integer(4), integer(6)}), "shape"); }),
            "`shape` has size 6 in dimension 1, which is not a power of 2");
  EXPECT_EQ(errorOf([&] { constexprShape(context, list({integer(2048), integer(1024)}), "shape"); }),
            "`shape` [2048, 1024] has more than 1048576 elements");
  EXPECT_EQ(errorOf([&] { constexprShape(context, list({integer(0)}), "shape"); }),
            "`shape` has size 0 in dimension 0; sizes are 1 to 1048576");
}

// The texts are those of Python's format().
TEST_F(Constants, FormatSpecs) {
  struct Row {
    Value value;
    const char *spec, *text;
  };
  const Row rows[] = {{integer(42), "5", "   42"},
                      {integer(42), "<5", "42   "},
                      {integer(42), "^5", " 42  "},
                      {integer(-42), "06", "-00042"},
                      {integer(255), "#x", "0xff"},
                      {integer(255), "08b", "11111111"},
                      {integer(255), "X", "FF"},
                      {integer(1234567), ",", "1,234,567"},
                      {integer(3), "+d", "+3"},
                      {integer(3), ".2f", "3.00"},
                      {integer(-3), "*>6", "****-3"},
                      {true, "d", "1"},
                      {number(3.14159), ".2f", "3.14"},
                      {number(3.14159), "10.3e", " 3.142e+00"},
                      {number(0.5), ".0%", "50%"},
                      {number(-2.5), "08.1f", "-00002.5"},
                      {number(1234.5), ",.2f", "1,234.50"},
                      {number(2.0), "6", "   2.0"},
                      {number(1e20), "g", "1e+20"},
                      {std::string("ab"), "4", "ab  "},
                      {std::string("abcd"), ">6.2s", "    ab"}};
  for (const Row& row : rows) EXPECT_EQ(formatConstant(context, row.value, row.spec), row.text) << row.spec;
  for (auto [value, spec] : {std::pair(integer(1), ".2d"),
                             {integer(1), "z"},
                             {std::string("a"), "d"},
                             {integer(1), "99999"},
                             {Value(DType{Scalar::Fp16}), ">8"},
                             {number(1.5), "x"},
                             {number(1.5), ".3"}})
    EXPECT_NE(errorOf([&] { formatConstant(context, value, spec); }).find("is not supported for"), std::string::npos)
        << spec;
}

TEST_F(Constants, ErrorsCarryTheCallChain) {
  Context::Place outer = context.place;
  context.place = {outer.file, {1, 1, 1, 2}, "inner", &outer};
  try {
    context.fail("some-kind", "wrong");
    FAIL();
  } catch (const CompileError& error) {
    EXPECT_EQ(error.diagnostic.kind, "some-kind");
    EXPECT_EQ(error.diagnostic.range.column, 1u);
    ASSERT_EQ(error.diagnostic.notes.size(), 1u);
    EXPECT_EQ(error.diagnostic.notes[0].message, "`inner` is called from here");
    EXPECT_EQ(error.diagnostic.notes[0].range.column, 5u);
  }
  auto site = mlir::cast<mlir::CallSiteLoc>(context.loc());
  EXPECT_EQ(mlir::cast<mlir::FileLineColRange>(site.getCaller()).getStartColumn(), 5u);
  EXPECT_EQ(mlir::cast<mlir::FileLineColRange>(site.getCallee()).getStartColumn(), 1u);
  context.place = outer;
}

}  // namespace
}  // namespace tandem::frontend::semantic
