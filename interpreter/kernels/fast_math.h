// Exponential, logarithm, hyperbolic tangent, error function, sine and cosine of floats, computed in double so that the
// one rounding to float is nearly the only error (below 0.51 ulp). No branches and no table: loops over these become
// vector code.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace tandem::interpreter {

// Adding it to a small double leaves the nearest integer in the low bits.
constexpr double kIntegerMagic = 6755399441055744.0;  // 1.5 * 2^52

// 2^x for |x| < 1000, by powers of ln 2 / k! around the nearest integer.
template <bool longSeries> inline double exp2Double(double x) {
  double shifted = x + kIntegerMagic;
  double r = (x - (shifted - kIntegerMagic)) * 0.69314718055994530942;
  double p = 1.0 / 40320;
  if constexpr (longSeries) {
    p = 1.0 / 39916800;
    p = std::fma(p, r, 1.0 / 3628800);
    p = std::fma(p, r, 1.0 / 362880);
    p = std::fma(p, r, 1.0 / 40320);
  }
  p = std::fma(p, r, 1.0 / 5040);
  p = std::fma(p, r, 1.0 / 720);
  p = std::fma(p, r, 1.0 / 120);
  p = std::fma(p, r, 1.0 / 24);
  p = std::fma(p, r, 1.0 / 6);
  p = std::fma(p, r, 0.5);
  p = std::fma(p, r, 1.0);
  p = std::fma(p, r, 1.0);
  return std::bit_cast<double>(std::bit_cast<uint64_t>(p) + (std::bit_cast<uint64_t>(shifted) << 52));
}

// Beyond +-200 the float result is 0 or infinity anyway.
inline float expScaled(float x, double scale) {
  double y = static_cast<double>(x) * scale;
  y = y > 200.0 ? 200.0 : y;
  y = y < -200.0 ? -200.0 : y;
  float result = static_cast<float>(exp2Double<false>(y));
  return x != x ? x : result;
}
inline float fastExp(float x) { return expScaled(x, 1.44269504088896340736); }
inline float fastExp2(float x) { return expScaled(x, 1.0); }
inline float fastExp10(float x) { return expScaled(x, 3.32192809488736234787); }

// Natural logarithm of x > 0 in double, times `scale`, by 2 atanh((m - 1) / (m + 1)) with m in [sqrt(1/2), sqrt(2)).
inline float logScaled(float x, double scale) {
  uint64_t bits = std::bit_cast<uint64_t>(static_cast<double>(x));
  uint64_t shifted = bits - 0x3fe6a09e667f3bcdu;
  uint64_t biased = (shifted >> 52) & 0xfff;  // the exponent modulo 4096
  biased ^= 0x800;
  double exponent = std::bit_cast<double>(biased | 0x4330000000000000u) - (4503599627370496.0 + 2048.0);
  double m = std::bit_cast<double>((shifted & 0xfffffffffffffu) + 0x3fe6a09e667f3bcdu);
  double s = (m - 1.0) / (m + 1.0), q = s * s;
  double p = 1.0 / 15;
  p = std::fma(p, q, 1.0 / 13);
  p = std::fma(p, q, 1.0 / 11);
  p = std::fma(p, q, 1.0 / 9);
  p = std::fma(p, q, 1.0 / 7);
  p = std::fma(p, q, 1.0 / 5);
  p = std::fma(p, q, 1.0 / 3);
  p = std::fma(p, q, 1.0);
  double value = (exponent * 0.69314718055994530942 + 2.0 * s * p) * scale;
  float result = static_cast<float>(value);
  constexpr float inf = std::numeric_limits<float>::infinity();
  result = x == 0.0f ? -inf : result;
  result = x < 0.0f ? std::numeric_limits<float>::quiet_NaN() : result;
  return x == inf || x != x ? x : result;
}
inline float fastLog(float x) { return logScaled(x, 1.0); }
inline float fastLog2(float x) { return logScaled(x, 1.44269504088896340736); }
inline float fastLog10(float x) { return logScaled(x, 0.43429448190325182765); }

inline float fastTanh(float x) {
  double d = static_cast<double>(x), a = std::fabs(d), q = d * d;
  a = a > 20.0 ? 20.0 : a;
  double e = exp2Double<true>(a * 2.88539008177792681472);
  double large = (e - 1.0) / (e + 1.0);
  double small = a * std::fma(q, std::fma(q, 2.0 / 15, -1.0 / 3), 1.0);
  double value = std::copysign(a < 0.01 ? small : large, d);
  float result = static_cast<float>(value);
  return x != x ? x : result;
}

// Below 0.95 the Taylor series. Above, 1 - exp(-a^2) w with w a polynomial in u, which runs over [-1, 1] as 1 / (1 + a
// / 2) does for a from 4.2 down to 0.9; it interpolates erfc(a) exp(a^2) at the Chebyshev nodes, to 3e-13.
inline float fastErf(float x) {
  double d = static_cast<double>(x), a = std::fabs(d);
  a = a > 4.2 ? 4.2 : a;
  double q = a * a;
  double s = 9.422759064650411e-11;
  s = std::fma(s, q, -1.2290555301717926e-09);
  s = std::fma(s, q, 1.4807192815879218e-08);
  s = std::fma(s, q, -1.6365844691234924e-07);
  s = std::fma(s, q, 1.6462114365889246e-06);
  s = std::fma(s, q, -1.492565035840625e-05);
  s = std::fma(s, q, 0.00012055332981789664);
  s = std::fma(s, q, -0.0008548327023450852);
  s = std::fma(s, q, 0.005223977625442188);
  s = std::fma(s, q, -0.026866170645131252);
  s = std::fma(s, q, 0.11283791670955126);
  s = std::fma(s, q, -0.37612638903183754);
  s = std::fma(s, q, 1.1283791670955126);
  double u = std::fma(1.0 / (1.0 + a / 2), 5.448484848484847, -2.7575757575757573);
  double w = 4.089540558046186e-10;
  w = std::fma(w, u, 1.1431454301676542e-09);
  w = std::fma(w, u, -2.065480231294714e-08);
  w = std::fma(w, u, 8.354272829080855e-09);
  w = std::fma(w, u, 8.84807852393384e-07);
  w = std::fma(w, u, -1.8664366035296234e-06);
  w = std::fma(w, u, -4.7028862481646165e-05);
  w = std::fma(w, u, 5.996803667357442e-05);
  w = std::fma(w, u, 0.003914875118574657);
  w = std::fma(w, u, 0.03295299163528339);
  w = std::fma(w, u, 0.15899286868789178);
  w = std::fma(w, u, 0.2606589690843936);
  double tail = 1.0 - exp2Double<false>(q * -1.44269504088896340736) * w;
  float result = static_cast<float>(std::copysign(a < 0.95 ? a * s : tail, d));
  return x != x ? x : result;
}

// Above this the reduction below is not exact enough, and libm takes over.
constexpr float kTrigonometricLimit = 1048576.0f;

// sin(x + quarterTurns * pi / 2) for |x| up to the limit.
inline float fastSinShifted(float x, uint64_t quarterTurns) {
  double d = static_cast<double>(x);
  double shifted = d * 0.63661977236758134308 + kIntegerMagic, n = shifted - kIntegerMagic;
  double r = std::fma(n, -1.57079632679489655800, d);
  r = std::fma(n, -6.12323399573676603587e-17, r);
  uint64_t quadrant = std::bit_cast<uint64_t>(shifted) + quarterTurns;
  double q = r * r;
  double s = 1.0 / 6227020800;
  s = std::fma(s, q, -1.0 / 39916800);
  s = std::fma(s, q, 1.0 / 362880);
  s = std::fma(s, q, -1.0 / 5040);
  s = std::fma(s, q, 1.0 / 120);
  s = std::fma(s, q, -1.0 / 6);
  s = std::fma(s * q, r, r);
  double c = -1.0 / 87178291200;
  c = std::fma(c, q, 1.0 / 479001600);
  c = std::fma(c, q, -1.0 / 3628800);
  c = std::fma(c, q, 1.0 / 40320);
  c = std::fma(c, q, -1.0 / 720);
  c = std::fma(c, q, 1.0 / 24);
  c = std::fma(c, q, -0.5);
  c = std::fma(c, q, 1.0);
  double value = quadrant & 1 ? c : s;
  value = std::bit_cast<double>(std::bit_cast<uint64_t>(value) ^ (quadrant & 2) << 62);
  return static_cast<float>(value);
}
inline float fastSin(float x) { return x == 0.0f ? x : fastSinShifted(x, 0); }
inline float fastCos(float x) { return fastSinShifted(x, 1); }

}  // namespace tandem::interpreter
