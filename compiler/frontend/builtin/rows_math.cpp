// Arithmetic, selection and the math functions.
#include "compiler/frontend/builtin/operands.h"
#include <llvm/Support/SaveAndRestore.h>

using namespace tandem::frontend::semantic;

namespace tandem::frontend::builtin {

static bool propagates(Context& c, const Arguments& a) {
  return constexprInt(c, a["propagate_nan"], "propagate_nan") != 0;
}

// GPUs approximate float32 `/` and `sqrt` unless told not to.
static Value precise(Context& c, Tensor result) {
  mlir::Operation* op = result.value.getDefiningOp();
  if (op && mlir::isa<mlir::arith::DivFOp, mlir::math::SqrtOp>(op)) op->setAttr("tile.precise", c.builder.getUnitAttr());
  return result;
}

static Value divide(Context& c, const Arguments& a) {
  Tensor quotient = fdiv(c, a["x"], a["y"]);
  return constexprBool(c, a["ieee_rounding"], "ieee_rounding") ? precise(c, quotient) : quotient;
}

static Value dividePrecisely(Context& c, const Arguments& a) { return precise(c, fdiv(c, a["x"], a["y"])); }

static Builtin binaryRow(const std::string& name, ast::BinaryOp op) {
  return {name, "x, y, sanitize_overflow=True",
          [op](Context& c, const Arguments& a) {
            bool wraps = !constexprBool(c, a["sanitize_overflow"], "sanitize_overflow");
            llvm::SaveAndRestore scope(c.mayOverflow, c.mayOverflow || wraps);
            return binary(c, op, a["x"], a["y"]);
          }};
}

// Rows of both `tl` and `tl.math`.
static void addBoth(Rows& rows, const std::string& name, const std::string& signature,
                    std::function<Value(Context&, const Arguments&)> emit) {
  rows.push_back({"tl." + name, signature, emit});
  rows.push_back({"tl.math." + name, signature, std::move(emit)});
}

static Builtin bitwise(const std::string& name, ast::BinaryOp op) {
  return {name, "self, other", [op](Context& c, const Arguments& a) {
            auto truth = [&](const Value& v) { return compare(c, ast::CompareOp::Ne, v, Int(0)); };
            return binary(c, op, truth(a["self"]), truth(a["other"]));
          }};
}

void addMathRows(Rows& rows) {
  for (const char* name :
       {"exp", "exp2", "log", "log2", "sin", "cos", "sqrt", "rsqrt", "erf", "floor", "ceil"})
    addBoth(rows, name, "x",
            [name = std::string(name)](Context& c, const Arguments& a) -> Value { return mathUnary(c, name, a["x"]); });
  addBoth(rows, "abs", "x", [](Context& c, const Arguments& a) -> Value { return abs(c, a["x"]); });
  addBoth(rows, "fma", "x, y, z",
          [](Context& c, const Arguments& a) -> Value { return fma(c, a["x"], a["y"], a["z"]); });
  addBoth(rows, "umulhi", "x, y", [](Context& c, const Arguments& a) -> Value { return umulhi(c, a["x"], a["y"]); });
  addBoth(rows, "sqrt_rn", "x", [](Context& c, const Arguments& a) { return precise(c, mathUnary(c, "sqrt_rn", a["x"])); });
  addBoth(rows, "fdiv", "x, y, ieee_rounding=False", divide);
  addBoth(rows, "div_rn", "x, y", dividePrecisely);
  rows.push_back(binaryRow("tl.add", ast::BinaryOp::Add));
  rows.push_back(binaryRow("tl.sub", ast::BinaryOp::Sub));
  rows.push_back(binaryRow("tl.mul", ast::BinaryOp::Mul));
  rows.push_back({"tl.where", "condition, x, y",
                  [](Context& c, const Arguments& a) -> Value { return where(c, a["condition"], a["x"], a["y"]); }});
  rows.push_back({"tl.minimum", "x, y, propagate_nan=PropagateNan.NONE", [](Context& c, const Arguments& a) -> Value {
                    return minimum(c, a["x"], a["y"], propagates(c, a));
                  }});
  rows.push_back({"tl.maximum", "x, y, propagate_nan=PropagateNan.NONE", [](Context& c, const Arguments& a) -> Value {
                    return maximum(c, a["x"], a["y"], propagates(c, a));
                  }});
  rows.push_back(
      {"tl.clamp", "x, min, max, propagate_nan=PropagateNan.NONE",
       [](Context& c, const Arguments& a) -> Value { return clamp(c, a["x"], a["min"], a["max"], propagates(c, a)); }});
  rows.push_back(bitwise("tl.tensor.logical_and", ast::BinaryOp::And));
  rows.push_back(bitwise("tl.tensor.logical_or", ast::BinaryOp::Or));
}

}  // namespace tandem::frontend::builtin
