// The kernel tests compare with these slow and obvious forms; runners call kernels on vectors.
#pragma once
#include "interpreter/kernels/kernels.h"
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

namespace tandem::interpreter {

template <class Out, class T> std::vector<Out> run(UnaryKernel kernel, const std::vector<T>& a) {
  std::vector<Out> out(a.size());
  kernel(a.data(), out.data(), a.size());
  return out;
}
template <class Out, class T>
std::vector<Out> run(BinaryKernel kernel, const std::vector<T>& a, const std::vector<T>& b) {
  std::vector<Out> out(a.size());
  kernel(a.data(), b.data(), out.data(), a.size());
  return out;
}

// A narrow float described by its fields; the value of a code by the textbook formula.
struct Format {
  Elem elem;
  int exponentBits, mantissaBits, bias;
  bool infinities, fnuz, saturates;
  int bits() const { return 1 + exponentBits + mantissaBits; }
  double value(uint32_t code) const {
    uint32_t fraction = code & ((1u << mantissaBits) - 1), exponent = code >> mantissaBits & ((1u << exponentBits) - 1);
    bool negative = code >> (bits() - 1) & 1, full = exponent == (1u << exponentBits) - 1;
    double magnitude;
    if (fnuz && negative && exponent == 0 && fraction == 0) return NAN;
    if (infinities && full)
      magnitude = fraction ? NAN : INFINITY;
    else if (!infinities && !fnuz && full && fraction == (1u << mantissaBits) - 1)
      magnitude = NAN;
    else if (exponent == 0)
      magnitude = std::ldexp(fraction, 1 - bias - mantissaBits);
    else
      magnitude = std::ldexp((1u << mantissaBits) + fraction, int(exponent) - bias - mantissaBits);
    return negative ? -magnitude : magnitude;
  }
};
constexpr Format kFormats[] = {
    {Elem::F8E4M3FN, 4, 3, 7, false, false, true},  {Elem::F8E5M2, 5, 2, 15, true, false, true},
    {Elem::F8E4M3FNUZ, 4, 3, 8, false, true, true}, {Elem::F8E5M2FNUZ, 5, 2, 16, false, true, true},
    {Elem::F16, 5, 10, 15, true, false, false},     {Elem::BF16, 8, 7, 127, true, false, false}};

// Distance in representable floats; NaN equals NaN.
inline int64_t ulps(float a, float b) {
  if (std::isnan(a) && std::isnan(b)) return 0;
  if (std::isnan(a) || std::isnan(b)) return INT64_MAX;
  auto ordered = [](float x) {
    int32_t bits;
    std::memcpy(&bits, &x, 4);
    return int64_t{bits < 0 ? INT32_MIN - int64_t{bits} : bits};
  };
  return std::abs(ordered(a) - ordered(b));
}

}  // namespace tandem::interpreter
