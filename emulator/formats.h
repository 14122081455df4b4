// Floating-point formats narrower than the host's: numbers to and from their bits, with every rounding that PTX has.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

namespace tandem::emulator {

enum class Rounding : uint8_t { Nearest, Zero, Down, Up, NearestAway };  // rn, rz, rm, rp, rna

struct Format {
  int exponentBits, mantissaBits;
  bool hasInfinity;  // without one the largest exponent holds numbers, and all bits set are NaN
};
constexpr Format kF16{5, 10, true}, kBF16{8, 7, true}, kE4M3{4, 3, false}, kE5M2{5, 2, true}, kTF32{8, 10, true},
    kF32{8, 23, true};

// `saturates`: what is too large becomes the largest finite number.
uint32_t toFormat(double value, const Format& format, Rounding rounding, bool saturates);
double fromFormat(uint32_t bits, const Format& format);

inline float fromF16(uint16_t bits) { return float(std::bit_cast<_Float16>(bits)); }
inline float fromBF16(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

// To the nearest, ties to even; any NaN becomes PTX's 0x7fff.
inline uint16_t toF16(float value) { return std::isnan(value) ? 0x7fff : std::bit_cast<uint16_t>(_Float16(value)); }
inline uint16_t toBF16(float value) {
  if (std::isnan(value)) return 0x7fff;
  uint32_t bits = std::bit_cast<uint32_t>(value);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// x + y in double, with the last bit set where it is inexact: rounding that once more to 51 bits or fewer is rounding x + y.
double addToOdd(double x, double y);

}  // namespace tandem::emulator
