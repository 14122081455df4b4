// Error-function relatives and modified Bessel functions: a series, or a rough start and Halley steps.
#include "interpreter/kernels/special.h"
#include <cmath>
#include <limits>
#include <math.h>

namespace tandem::interpreter {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();
constexpr double kTwoOverSqrtPi = 1.12837916709551257390, kSqrtHalf = 0.70710678118654752440;

// One Halley step for f(y) = erf(y) - x or -(erfc(y) - x), whose value at y is `residual`.
double halleyStep(double y, double residual) {
  double u = residual / (kTwoOverSqrtPi * std::exp(-y * y));
  return y - u / (1.0 + y * u);
}

// Winitzki's closed form: a relative error of a few thousandths.
double roughInverseErf(double x, double logOneMinusXx) {
  constexpr double a = 0.147;
  double t = 2.0 / (3.14159265358979323846 * a) + logOneMinusXx / 2;
  return std::copysign(std::sqrt(std::sqrt(t * t - logOneMinusXx / a) - t), x);
}

// erfc(y) = x for 0 < x < 1/2: y is positive, and 1 - x would lose digits. The tail's own form starts well where x is
// tiny.
double tailInverse(double x) {
  double y;
  if (x > 1e-5) {
    y = roughInverseErf(1.0, std::log(x) + std::log(2.0 - x));
  } else {
    y = std::sqrt(-std::log(x));
    for (int i = 0; i < 4; ++i) y = std::sqrt(-std::log(x * y / (kTwoOverSqrtPi / 2)));
  }
  for (int i = 0; i < 4; ++i) y = halleyStep(y, x - std::erfc(y));
  return y;
}

// Sum of (x^2/4)^k / (k! (k + order)!), all terms positive.
double besselSeries(double x, int order) {
  double q = x * x / 4, term = 1, sum = 1;
  for (int k = 1; k < 200 && term > sum * 1e-18; ++k) {
    term *= q / (static_cast<double>(k) * (k + order));
    sum += term;
  }
  return sum;
}

// exp(x) / sqrt(2 pi x) times the asymptotic series, x large. Half of the exponential at a time: the product overflows
// last.
double besselLarge(double x, int order) {
  double mu = 4.0 * order * order, term = 1, sum = 1;
  for (int k = 1; k < 40; ++k) {
    double odd = 2.0 * k - 1;
    double next = term * -(mu - odd * odd) / (k * 8.0 * x);
    if (std::fabs(next) >= std::fabs(term) || std::fabs(next) < 1e-18) break;
    term = next;
    sum += term;
  }
  double half = std::exp(x / 2);
  return half * (sum / std::sqrt(2 * 3.14159265358979323846 * x)) * half;
}

}  // namespace

double inverseErf(double x) {
  double a = std::fabs(x);
  if (!(a <= 1.0)) return kNan;
  if (a == 1.0) return std::copysign(kInfinity, x);
  if (a > 0.5) return std::copysign(tailInverse(1.0 - a), x);
  if (a < 1e-9) return x / kTwoOverSqrtPi;
  double y = roughInverseErf(x, std::log1p(-x * x));
  for (int i = 0; i < 3; ++i) y = halleyStep(y, std::erf(y) - x);
  return y;
}

double inverseErfc(double x) {
  if (!(x >= 0.0 && x <= 2.0)) return kNan;
  if (x == 0.0) return kInfinity;
  if (x == 2.0) return -kInfinity;
  if (x < 0.5) return tailInverse(x);
  if (x > 1.5) return -tailInverse(2.0 - x);
  return inverseErf(1.0 - x);
}

double scaledErfc(double x) {
  if (x < 8.0) {
    double square = x * x, rest = std::fma(x, x, -square);
    double grown = std::exp(square);
    if (std::isinf(grown)) return x > 0 ? 0.0 : grown;
    return (grown + grown * rest) * std::erfc(x);
  }
  double inverse = 1.0 / (2 * x * x), term = 1, sum = 1;
  for (int k = 1; k < 30; ++k) {
    term *= -(2.0 * k - 1) * inverse;
    sum += term;
  }
  return sum * (kTwoOverSqrtPi / 2) / x;
}

double normalCdf(double x) {
  double y = -x * kSqrtHalf;
  if (std::isinf(y) || y > 40) return y > 0 ? 0.0 : 1.0;
  double lost = std::fma(-x, kSqrtHalf, -y) - x * -4.833646656726457e-17;
  return 0.5 * (std::erfc(y) - kTwoOverSqrtPi * std::exp(-y * y) * lost);
}

double inverseNormalCdf(double p) { return -inverseErfc(2.0 * p) / kSqrtHalf; }

double besselI0(double x) {
  double a = std::fabs(x);
  if (std::isinf(a)) return a;
  return a > 40 ? besselLarge(a, 0) : besselSeries(a, 0);
}

double besselI1(double x) {
  double a = std::fabs(x);
  if (std::isinf(a)) return x;
  return a > 40 ? std::copysign(besselLarge(a, 1), x) : x / 2 * besselSeries(a, 1);
}

double logGamma(double x) {
#if defined(__GLIBC__)
  int sign = 0;
  return ::lgamma_r(x, &sign);
#else
  return std::lgamma(x);
#endif
}

}  // namespace tandem::interpreter
