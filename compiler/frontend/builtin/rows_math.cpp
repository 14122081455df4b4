// Arithmetic, selection and the math functions.
#include "compiler/frontend/builtin/operands.h"
#include "compiler/dialect/tile/attributes.h"
#include <llvm/Support/SaveAndRestore.h>

using namespace tandem::frontend::semantic;

namespace tandem::frontend::builtin {

static bool propagates(Context& c, const Arguments& a) {
  return constexprInt(c, a["propagate_nan"], "propagate_nan") != 0;
}

// GPUs approximate float32 `/` and `sqrt` unless told not to.
static Value precise(Context& c, Tensor result) {
  mlir::Operation* op = result.value.getDefiningOp();
  if (op && mlir::isa<mlir::arith::DivFOp, mlir::math::SqrtOp>(op)) tile::setPrecise(op);
  return result;
}

static Value divide(Context& c, const Arguments& a) {
  Tensor quotient = fdiv(c, a["x"], a["y"]);
  return constexprBool(c, a["ieee_rounding"], "ieee_rounding") ? precise(c, quotient) : quotient;
}

static Value dividePrecisely(Context& c, const Arguments& a) { return precise(c, fdiv(c, a["x"], a["y"])); }

static Builtin binaryRow(const std::string& name, const std::string& result, ast::BinaryOp op) {
  return {name, "x, y, sanitize_overflow=True",
          "The " + result + " of both elements. `sanitize_overflow=False` lets integers wrap.",
          [op](Context& c, const Arguments& a) {
            bool wraps = !constexprBool(c, a["sanitize_overflow"], "sanitize_overflow");
            llvm::SaveAndRestore scope(c.mayOverflow, c.mayOverflow || wraps);
            return binary(c, op, a["x"], a["y"]);
          }};
}

// Rows of both `tl` and `tl.math`.
static void addBoth(Rows& rows, const std::string& name, const std::string& signature, const char* doc,
                    std::function<Value(Context&, const Arguments&)> emit) {
  rows.push_back({"tl." + name, signature, doc, emit});
  rows.push_back({"tl.math." + name, signature, doc, std::move(emit)});
}

static Builtin logical(const std::string& word, ast::BinaryOp op) {
  return {"tl.tensor.logical_" + word, "self, other", "True where `self` " + word + " `other` are not 0.",
          [op](Context& c, const Arguments& a) {
            auto truth = [&](const Value& v) { return compare(c, ast::CompareOp::Ne, v, Int(0)); };
            return binary(c, op, truth(a["self"]), truth(a["other"]));
          }};
}

// The methods by which Python calls operators: kernels may call them by name.
static void addOperatorRows(Rows& rows) {
  using ast::BinaryOp, ast::CompareOp;
  static const std::tuple<const char*, const char*, BinaryOp> binaries[] = {
      {"add", "+", BinaryOp::Add},        {"sub", "-", BinaryOp::Sub}, {"mul", "*", BinaryOp::Mul},
      {"truediv", "/", BinaryOp::Div},    {"mod", "%", BinaryOp::Mod}, {"floordiv", "//", BinaryOp::FloorDiv},
      {"lshift", "<<", BinaryOp::LShift}, {"and", "&", BinaryOp::And}, {"rshift", ">>", BinaryOp::RShift},
      {"or", "|", BinaryOp::Or},          {"xor", "^", BinaryOp::Xor}};
  static const std::tuple<const char*, const char*, CompareOp> comparisons[] = {
      {"eq", "==", CompareOp::Eq}, {"ne", "!=", CompareOp::Ne}, {"lt", "<", CompareOp::Lt},
      {"le", "<=", CompareOp::Le}, {"gt", ">", CompareOp::Gt},  {"ge", ">=", CompareOp::Ge}};
  static const std::tuple<const char*, const char*, ast::UnaryOp> unaries[] = {{"neg", "-", ast::UnaryOp::Neg},
                                                                               {"invert", "~", ast::UnaryOp::Invert}};
  auto method = [](std::string word) { return "tl.tensor.__" + word + "__"; };
  auto text = [](std::string left, std::string sign, std::string right) {
    return "`" + left + " " + sign + " " + right + "`.";
  };
  for (auto [word, sign, op] : binaries) {
    rows.push_back({method(word), "self, other", text("self", sign, "other"),
                    [op](Context& c, const Arguments& a) -> Value { return binary(c, op, a["self"], a["other"]); }});
    rows.push_back({method(std::string("r") + word), "self, other", text("other", sign, "self"),
                    [op](Context& c, const Arguments& a) -> Value { return binary(c, op, a["other"], a["self"]); }});
  }
  for (auto [word, sign, op] : comparisons)
    rows.push_back({method(word), "self, other", text("self", sign, "other"),
                    [op](Context& c, const Arguments& a) -> Value { return compare(c, op, a["self"], a["other"]); }});
  for (auto [word, sign, op] : unaries)
    rows.push_back({method(word), "self", std::string("`") + sign + "self`.",
                    [op](Context& c, const Arguments& a) -> Value { return semantic::unary(c, op, a["self"]); }});
}

void addMathRows(Rows& rows) {
  static const std::pair<const char*, const char*> unary[] = {
      {"exp", "e to the power of each element."},
      {"exp2", "2 to the power of each element."},
      {"log", "The natural logarithm of each element."},
      {"log2", "The logarithm to base 2 of each element."},
      {"sin", "The sine of each element, in radians."},
      {"cos", "The cosine of each element, in radians."},
      {"sqrt", "The square root of each element, perhaps an ulp off."},
      {"rsqrt", "1 / sqrt of each element, perhaps some ulps off."},
      {"erf", "The error function of each element."},
      {"floor", "Each element rounded down."},
      {"ceil", "Each element rounded up."}};
  for (auto [name, doc] : unary)
    addBoth(rows, name, "x", doc,
            [name = std::string(name)](Context& c, const Arguments& a) -> Value { return mathUnary(c, name, a["x"]); });
  addBoth(rows, "abs", "x", "The absolute value of each element.",
          [](Context& c, const Arguments& a) -> Value { return abs(c, a["x"]); });
  addBoth(rows, "fma", "x, y, z", "x * y + z, rounded once.",
          [](Context& c, const Arguments& a) -> Value { return fma(c, a["x"], a["y"], a["z"]); });
  addBoth(rows, "umulhi", "x, y", "The upper half of the bits of each product, as of unsigned integers.",
          [](Context& c, const Arguments& a) -> Value { return umulhi(c, a["x"], a["y"]); });
  addBoth(rows, "sqrt_rn", "x", "The square root of each element, rounded to nearest.",
          [](Context& c, const Arguments& a) { return precise(c, mathUnary(c, "sqrt_rn", a["x"])); });
  addBoth(rows, "fdiv", "x, y, ieee_rounding=False", "x / y, perhaps some ulps off unless `ieee_rounding`.", divide);
  addBoth(rows, "div_rn", "x, y", "x / y, rounded to nearest.", dividePrecisely);
  rows.push_back(binaryRow("tl.add", "sum", ast::BinaryOp::Add));
  rows.push_back(binaryRow("tl.sub", "difference", ast::BinaryOp::Sub));
  rows.push_back(binaryRow("tl.mul", "product", ast::BinaryOp::Mul));
  rows.push_back({"tl.where", "condition, x, y",
                  "The elements of `x` where `condition` is true, of `y` elsewhere. Both are computed.",
                  [](Context& c, const Arguments& a) -> Value { return where(c, a["condition"], a["x"], a["y"]); }});
  rows.push_back(
      {"tl.minimum", "x, y, propagate_nan=PropagateNan.NONE",
       "The smaller of both elements. A NaN loses, unless `propagate_nan` is PropagateNan.ALL.",
       [](Context& c, const Arguments& a) -> Value { return minimum(c, a["x"], a["y"], propagates(c, a)); }});
  rows.push_back(
      {"tl.maximum", "x, y, propagate_nan=PropagateNan.NONE",
       "The larger of both elements. A NaN loses, unless `propagate_nan` is PropagateNan.ALL.",
       [](Context& c, const Arguments& a) -> Value { return maximum(c, a["x"], a["y"], propagates(c, a)); }});
  rows.push_back(
      {"tl.clamp", "x, min, max, propagate_nan=PropagateNan.NONE",
       "Each element of `x`, not below `min` and not above `max`.",
       [](Context& c, const Arguments& a) -> Value { return clamp(c, a["x"], a["min"], a["max"], propagates(c, a)); }});
  rows.push_back(logical("and", ast::BinaryOp::And));
  rows.push_back(logical("or", ast::BinaryOp::Or));
  addOperatorRows(rows);
}

}  // namespace tandem::frontend::builtin
