#include "emulator/formats.h"

namespace tandem::emulator {

double addToOdd(double x, double y) {
  double sum = x + y;
  if (!std::isfinite(sum)) return sum;
  double back = sum - x, error = (x - (sum - back)) + (y - back);
  uint64_t bits = std::bit_cast<uint64_t>(sum);
  if (error == 0 || (bits & 1)) return sum;
  return std::bit_cast<double>((error > 0) == (sum > 0) ? bits + 1 : bits - 1);
}

uint32_t toFormat(double value, const Format& format, Rounding rounding, bool saturates) {
  const int mantissa = format.mantissaBits, bias = (1 << (format.exponentBits - 1)) - 1;
  const uint32_t top = (1u << format.exponentBits) - 1;
  const uint32_t infinity = top << mantissa, allOnes = infinity | ((1u << mantissa) - 1);
  const uint32_t largest = format.hasInfinity ? infinity - 1 : allOnes - 1;
  const uint32_t sign = uint32_t(std::signbit(value)) << (format.exponentBits + mantissa);
  if (std::isnan(value)) return allOnes;
  double size = std::fabs(value);
  if (std::isinf(value)) return sign | (saturates || !format.hasInfinity ? (saturates ? largest : allOnes) : infinity);
  if (size == 0) return sign;
  int exponent = 0;
  std::frexp(size, &exponent);
  int unit = std::max(exponent - 1, 1 - bias) - mantissa;  // the exponent of the last place
  double scaled = std::ldexp(size, -unit), whole = std::floor(scaled), rest = scaled - whole;
  bool isUp = false;
  switch (rounding) {
    case Rounding::Nearest: isUp = rest > 0.5 || (rest == 0.5 && std::fmod(whole, 2) != 0); break;
    case Rounding::NearestAway: isUp = rest >= 0.5; break;
    case Rounding::Zero: break;
    case Rounding::Down: isUp = rest > 0 && sign; break;
    case Rounding::Up: isUp = rest > 0 && !sign; break;
  }
  // The bits of numbers of one sign are in the numbers' order, across exponents too.
  uint64_t places = uint64_t(whole) + isUp;
  uint64_t bits = (uint64_t(unit + mantissa + bias - 1) << mantissa) + places;
  if (unit + mantissa == 1 - bias && places < (1ull << mantissa)) bits = places;
  if (bits > largest) {
    bool staysFinite =
        rounding == Rounding::Zero || (rounding == Rounding::Down && !sign) || (rounding == Rounding::Up && sign);
    return sign | (saturates || (staysFinite && format.hasInfinity) ? largest
                   : format.hasInfinity                             ? infinity
                                                                    : allOnes);
  }
  return sign | uint32_t(bits);
}

double fromFormat(uint32_t bits, const Format& format) {
  const int mantissa = format.mantissaBits, bias = (1 << (format.exponentBits - 1)) - 1;
  const uint32_t top = (1u << format.exponentBits) - 1, places = bits & ((1u << mantissa) - 1);
  const uint32_t exponent = bits >> mantissa & top;
  const double sign = bits >> (format.exponentBits + mantissa) & 1 ? -1 : 1;
  if (exponent == top && format.hasInfinity) return places ? std::nan("") : sign * HUGE_VAL;
  if (exponent == top && places == (1u << mantissa) - 1) return std::nan("");
  double whole = double(places) + (exponent ? double(1u << mantissa) : 0);
  return sign * std::ldexp(whole, int(exponent ? exponent : 1) - bias - mantissa);
}

}  // namespace tandem::emulator
