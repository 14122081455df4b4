// This file computes Python's `math` on constants: results are floats, and integers of floor(), ceil() and trunc().
#include "compiler/frontend/emit/python_math.h"
#include "compiler/frontend/emit/emitter.h"
#include <algorithm>
#include <cmath>

namespace tandem::frontend {
namespace {

struct MathFunction {
  const char* name;
  double (*ofOne)(double);
  double (*ofTwo)(double, double) = nullptr;
  bool isInteger = false;  // the result is one
};

double logarithm(double x, double base) { return std::log(x) / std::log(base); }

constexpr MathFunction kFunctions[] = {
    {"sqrt", std::sqrt},
    {"cbrt", std::cbrt},
    {"exp", std::exp},
    {"exp2", std::exp2},
    {"expm1", std::expm1},
    {"log", std::log, logarithm},
    {"log2", std::log2},
    {"log10", std::log10},
    {"log1p", std::log1p},
    {"sin", std::sin},
    {"cos", std::cos},
    {"tan", std::tan},
    {"asin", std::asin},
    {"acos", std::acos},
    {"atan", std::atan},
    {"sinh", std::sinh},
    {"cosh", std::cosh},
    {"tanh", std::tanh},
    {"erf", std::erf},
    {"erfc", std::erfc},
    {"fabs", std::fabs},
    {"pow", nullptr, std::pow},
    {"atan2", nullptr, std::atan2},
    {"fmod", nullptr, std::fmod},
    {"hypot", nullptr, std::hypot},
    {"copysign", nullptr, std::copysign},
    {"floor", std::floor, nullptr, true},
    {"ceil", std::ceil, nullptr, true},
    {"trunc", std::trunc, nullptr, true},
};

}  // namespace

double toDouble(const Value& v) {
  if (v.is<double>()) return v.as<double>();
  return v.is<bool>() ? double(v.as<bool>()) : double(v.as<Int>());
}

const std::vector<Builtin>& mathFunctions() {
  static const std::vector<Builtin> table = [] {
    std::vector<Builtin> t;
    for (const MathFunction& f : kFunctions) t.push_back({std::string("math.") + f.name, "*args", "", nullptr});
    return t;
  }();
  return table;
}

Value callMath(Context& cx, const std::string& name, const std::vector<Value>& arguments) {
  const MathFunction& f = *std::ranges::find(kFunctions, name, &MathFunction::name);
  auto fail = [&](const std::string& message, const std::string& hint = "") {
    cx.failAt(cx.place.range, "type-error", "`math." + name + "` " + message, hint);
  };
  for (const Value& v : arguments) {
    if (containsTensor(v)) fail("takes constants, but got " + describe(v), hintForHostName(name));
    if (!v.isNumber()) fail("takes numbers, but got " + describe(v));
  }
  size_t count = arguments.size();
  if (!(count == 1 && f.ofOne) && !(count == 2 && f.ofTwo))
    fail(std::string("takes ") +
         (!f.ofTwo  ? "1 number"
          : f.ofOne ? "1 or 2 numbers"
                    : "2 numbers") +
         ", but got " + std::to_string(count));
  if (f.isInteger && !arguments[0].is<double>()) return arguments[0];
  double x = toDouble(arguments[0]), y = count == 2 ? toDouble(arguments[1]) : 0;
  double result = count == 2 ? f.ofTwo(x, y) : f.ofOne(x);
  if (std::isfinite(x) && std::isfinite(y) && !std::isfinite(result)) fail("has no value there");
  if (f.isInteger && !(std::fabs(result) < 0x1p63)) fail("gives no integer of 64 bits");
  return f.isInteger ? Value(Int(result)) : Value(result);
}

}  // namespace tandem::frontend
