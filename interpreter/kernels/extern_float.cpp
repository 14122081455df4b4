// The device library's float functions.
#include "interpreter/kernels/extern_table.h"
#include "interpreter/kernels/fast_math.h"
#include "interpreter/kernels/saturate.h"
#include "interpreter/kernels/special.h"
#include <climits>
#include <math.h>

namespace tandem::interpreter {
namespace {

constexpr double kPi = 3.14159265358979323846;

// sin(pi (x + quarterTurns / 2)): the reduction is exact.
double sinPiShifted(double x, int quarterTurns) {
  if (std::isinf(x) || std::isnan(x)) return x - x;
  double r = std::remainder(x, 2.0), turns = std::nearbyint(2 * r);
  double rest = kPi * (r - turns / 2);
  int quadrant = (static_cast<int>(turns) + quarterTurns) & 3;
  double value = quadrant & 1 ? std::cos(rest) : std::sin(rest);
  return quadrant & 2 ? -value : value;
}

// Bessel functions of huge order take as many steps; far beyond the argument they are 0 or infinite.
double besselJ(int n, double x) { return std::abs(static_cast<double>(n)) > 1e5 + 2 * std::fabs(x) ? 0.0 : ::jn(n, x); }
double besselY(int n, double x) {
  bool beyond = std::abs(static_cast<double>(n)) > 1e5 + 2 * std::fabs(x) && x > 0;
  return beyond ? -std::numeric_limits<double>::infinity() : ::yn(n, x);
}

int binaryExponent(double x) {
  if (x == 0 || std::isnan(x)) return INT_MIN;
  return std::isinf(x) ? INT_MAX : std::ilogb(x);
}

int64_t toLong(double whole) { return static_cast<int64_t>(FloatToInt<double, Int64, true>::apply(whole)); }

void addElementary(ExternTable& t) {
  addUnary(t, "sin", [](auto x) { return std::sin(x); });
  addUnary(t, "cos", [](auto x) { return std::cos(x); });
  addUnary(t, "tan", [](auto x) { return std::tan(x); });
  addUnary(t, "sinpi", [](double x) {
    double value = sinPiShifted(x, 0);
    return value == 0 ? std::copysign(value, x) : value;
  });
  addUnary(t, "cospi", [](double x) { return sinPiShifted(x, 1) + 0.0; });
  addUnary(t, "asin", [](auto x) { return std::asin(x); });
  addUnary(t, "acos", [](auto x) { return std::acos(x); });
  addUnary(t, "atan", [](auto x) { return std::atan(x); });
  addBinary(t, "atan2", [](auto y, auto x) { return std::atan2(y, x); });
  addUnary(t, "sinh", [](auto x) { return std::sinh(x); });
  addUnary(t, "cosh", [](auto x) { return std::cosh(x); });
  addUnary(t, "asinh", [](auto x) { return std::asinh(x); });
  addUnary(t, "acosh", [](auto x) { return std::acosh(x); });
  addUnary(t, "atanh", [](auto x) { return std::atanh(x); });
  addUnary(t, "expm1", [](auto x) { return std::expm1(x); });
  addUnary(t, "log1p", [](auto x) { return std::log1p(x); });
  addUnary(t, "cbrt", [](auto x) { return std::cbrt(x); });
  addUnary(t, "rcbrt", [](double x) { return 1.0 / std::cbrt(x); });
  addUnary(t, "sqrt", [](auto x) { return std::sqrt(x); });
  addUnary(t, "rsqrt", [](double x) { return 1.0 / std::sqrt(x); });
  addBinary(t, "pow", [](auto x, auto y) { return std::pow(x, y); });
  addExtern(t, "powi", [](double x, int32_t n) { return std::pow(x, static_cast<double>(n)); });
  addExtern(t, "powif", [](float x, int32_t n) {
    return static_cast<float>(std::pow(static_cast<double>(x), static_cast<double>(n)));
  });
}

// These functions have a vector form on floats.
void addExponential(ExternTable& t) {
  addExtern(t, "exp", [](double x) { return std::exp(x); });
  addExtern(t, "exp2", [](double x) { return std::exp2(x); });
  addExtern(t, "exp10", [](double x) { return std::pow(10.0, x); });
  addExtern(t, "log", [](double x) { return std::log(x); });
  addExtern(t, "log2", [](double x) { return std::log2(x); });
  addExtern(t, "log10", [](double x) { return std::log10(x); });
  addExtern(t, "tanh", [](double x) { return std::tanh(x); });
  for (const char* prefix : {"", "fast_"}) {
    std::string p = prefix;
    addExtern(t, p + "expf", [](float x) { return fastExp(x); });
    addExtern(t, p + "exp10f", [](float x) { return fastExp10(x); });
    addExtern(t, p + "logf", [](float x) { return fastLog(x); });
    addExtern(t, p + "log2f", [](float x) { return fastLog2(x); });
    addExtern(t, p + "log10f", [](float x) { return fastLog10(x); });
    addExtern(t, p + "tanhf", [](float x) { return fastTanh(x); });
  }
  addExtern(t, "exp2f", [](float x) { return fastExp2(x); });
  addExtern(t, "fast_sinf", [](float x) { return std::sin(x); });
  addExtern(t, "fast_cosf", [](float x) { return std::cos(x); });
  addExtern(t, "fast_tanf", [](float x) { return std::tan(x); });
  addExtern(t, "fast_powf", [](float x, float y) {
    return static_cast<float>(std::exp2(static_cast<double>(y) * std::log2(static_cast<double>(x))));
  });
  addExtern(t, "fast_fdividef", [](float x, float y) { return x / y; });
}

void addSpecial(ExternTable& t) {
  addExtern(t, "erf", [](double x) { return std::erf(x); });
  addExtern(t, "erff", [](float x) { return fastErf(x); });
  addUnary(t, "erfc", [](auto x) { return std::erfc(x); });
  addUnary(t, "erfinv", [](double x) { return inverseErf(x); });
  addUnary(t, "erfcinv", [](double x) { return inverseErfc(x); });
  addUnary(t, "erfcx", [](double x) { return scaledErfc(x); });
  addUnary(t, "normcdf", [](double x) { return normalCdf(x); });
  addUnary(t, "normcdfinv", [](double p) { return inverseNormalCdf(p); });
  addUnary(t, "lgamma", [](double x) { return logGamma(x); });
  addUnary(t, "tgamma", [](auto x) { return std::tgamma(x); });
  addUnary(t, "j0", [](double x) { return ::j0(x); });
  addUnary(t, "j1", [](double x) { return ::j1(x); });
  addUnary(t, "y0", [](double x) { return ::y0(x); });
  addUnary(t, "y1", [](double x) { return ::y1(x); });
  addExtern(t, "jn", [](int32_t n, double x) { return besselJ(n, x); });
  addExtern(t, "jnf", [](int32_t n, float x) { return static_cast<float>(besselJ(n, static_cast<double>(x))); });
  addExtern(t, "yn", [](int32_t n, double x) { return besselY(n, x); });
  addExtern(t, "ynf", [](int32_t n, float x) { return static_cast<float>(besselY(n, static_cast<double>(x))); });
  addUnary(t, "cyl_bessel_i0", [](double x) { return besselI0(x); });
  addUnary(t, "cyl_bessel_i1", [](double x) { return besselI1(x); });
}

void addArithmetic(ExternTable& t) {
  addBinary(t, "fmod", [](auto x, auto y) { return std::fmod(x, y); });
  addBinary(t, "remainder", [](auto x, auto y) { return std::remainder(x, y); });
  addBinary(t, "fdim", [](auto x, auto y) { return std::fdim(x, y); });
  addBinary(t, "fmin", [](auto x, auto y) { return std::fmin(x, y); });
  addBinary(t, "fmax", [](auto x, auto y) { return std::fmax(x, y); });
  addBinary(t, "copysign", [](auto x, auto y) { return std::copysign(x, y); });
  addBinary(t, "nextafter", [](auto x, auto y) { return std::nextafter(x, y); });
  addBinary(t, "hypot", [](auto x, auto y) { return std::hypot(x, y); });
  addBinary(t, "rhypot", [](double x, double y) { return 1.0 / std::hypot(x, y); });
  auto norm3 = [](double x, double y, double z) { return std::hypot(x, y, z); };
  addTernary(t, "norm3d", norm3);
  addTernary(t, "rnorm3d", [](double x, double y, double z) { return 1.0 / std::hypot(x, y, z); });
  addExtern(t, "norm4d",
            [](double a, double b, double c, double d) { return std::hypot(std::hypot(a, b), std::hypot(c, d)); });
  addExtern(t, "norm4df", [](float a, float b, float c, float d) {
    return static_cast<float>(std::hypot(std::hypot(double{a}, double{b}), std::hypot(double{c}, double{d})));
  });
  addExtern(t, "rnorm4d", [](double a, double b, double c, double d) {
    return 1.0 / std::hypot(std::hypot(a, b), std::hypot(c, d));
  });
  addExtern(t, "rnorm4df", [](float a, float b, float c, float d) {
    return static_cast<float>(1.0 / std::hypot(std::hypot(double{a}, double{b}), std::hypot(double{c}, double{d})));
  });
  addTernary(t, "fma", [](auto x, auto y, auto z) { return std::fma(x, y, z); });
  addUnary(t, "fabs", [](auto x) { return std::fabs(x); });
  addExtern(t, "saturatef", [](float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; });
  addExtern(t, "rcp64h", [](double x) { return 1.0 / x; });
}

void addRoundingToWhole(ExternTable& t) {
  addUnary(t, "floor", [](auto x) { return std::floor(x); });
  addUnary(t, "ceil", [](auto x) { return std::ceil(x); });
  addUnary(t, "trunc", [](auto x) { return std::trunc(x); });
  addUnary(t, "round", [](auto x) { return std::round(x); });
  addUnary(t, "rint", [](auto x) { return std::nearbyint(x); });
  addUnary(t, "nearbyint", [](auto x) { return std::nearbyint(x); });
  addExtern(t, "llrint", [](double x) { return toLong(std::nearbyint(x)); });
  addExtern(t, "llrintf", [](float x) { return toLong(static_cast<double>(std::nearbyint(x))); });
  addExtern(t, "llround", [](double x) { return toLong(std::round(x)); });
  addExtern(t, "llroundf", [](float x) { return toLong(static_cast<double>(std::round(x))); });
}

void addParts(ExternTable& t) {
  for (const char* name : {"ldexp", "scalbn"}) {
    addExtern(t, name, [](double x, int32_t n) { return std::ldexp(x, n); });
    addExtern(t, std::string(name) + "f", [](float x, int32_t n) { return std::ldexp(x, n); });
  }
  addUnary(t, "logb", [](auto x) { return std::logb(x); });
  addExtern(t, "ilogb", [](double x) { return binaryExponent(x); });
  addExtern(t, "ilogbf", [](float x) { return binaryExponent(static_cast<double>(x)); });
  addExtern(t, "isnand", [](double x) { return int32_t{std::isnan(x)}; });
  addExtern(t, "isnanf", [](float x) { return int32_t{std::isnan(x)}; });
  addExtern(t, "isinfd", [](double x) { return int32_t{std::isinf(x)}; });
  addExtern(t, "isinff", [](float x) { return int32_t{std::isinf(x)}; });
  addExtern(t, "isfinited", [](double x) { return int32_t{std::isfinite(x)}; });
  addExtern(t, "finitef", [](float x) { return int32_t{std::isfinite(x)}; });
  addExtern(t, "signbitd", [](double x) { return int32_t{std::signbit(x)}; });
  addExtern(t, "signbitf", [](float x) { return int32_t{std::signbit(x)}; });
}

}  // namespace

void addFloatExterns(ExternTable& t) {
  addElementary(t);
  addExponential(t);
  addSpecial(t);
  addArithmetic(t);
  addRoundingToWhole(t);
  addParts(t);
}

}  // namespace tandem::interpreter
