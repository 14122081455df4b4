// The floats narrower than 32 bits: exact decoding to float, encoding from float with one rounding. Scalar forms and
// array forms.
#pragma once
#include "interpreter/program.h"
#include "tandem/element_types.h"
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace tandem::interpreter {

enum class Rounding : uint8_t { NearestEven, TowardZero };

// The codes of a format that are special. Ieee: exponent all ones is infinity or NaN. Fn: only all ones is NaN. Fnuz:
// only the code of -0 is NaN.
enum class Specials : uint8_t { Ieee, Fn, Fnuz };

template <unsigned exponentBits, unsigned mantissaBits, int exponentBias, Specials kind, bool saturates>
struct FloatFormat {
  using Code = std::conditional_t<(exponentBits + mantissaBits > 7), uint16_t, uint8_t>;
  static constexpr unsigned man = mantissaBits;
  static constexpr uint32_t signBit = 1u << (exponentBits + mantissaBits);
  static constexpr uint32_t infinity = ((1u << exponentBits) - 1) << man;  // Ieee only
  static constexpr uint32_t maxCode = kind == Specials::Ieee ? infinity - 1
                                      : kind == Specials::Fn ? signBit - 2
                                                             : signBit - 1;
  static constexpr uint32_t nan = kind == Specials::Fnuz              ? signBit
                                  : kind == Specials::Fn || saturates ? signBit - 1
                                                                      : infinity | 1u << (man - 1);

  static constexpr float decode(Code code) {
    uint32_t magnitude = code & (signBit - 1), sign = code & signBit ? 0x80000000u : 0;
    if (kind == Specials::Fnuz && code == signBit) return std::bit_cast<float>(0x7fc00000u);
    if (kind == Specials::Fn && magnitude == signBit - 1) return std::bit_cast<float>(0x7fc00000u | sign);
    if (kind == Specials::Ieee && magnitude > infinity)
      return std::bit_cast<float>(0x7fc00000u | sign | (magnitude & ((1u << man) - 1)) << (23 - man));
    if (kind == Specials::Ieee && magnitude == infinity) return std::bit_cast<float>(0x7f800000u | sign);
    uint32_t exponent = magnitude >> man;
    if (exponent != 0)
      return std::bit_cast<float>(sign | ((magnitude << (23 - man)) + (uint32_t(127 - exponentBias) << 23)));
    float quantum = std::bit_cast<float>(uint32_t(128 - exponentBias - int(man)) << 23);
    float value = static_cast<float>(magnitude) * quantum;
    return sign ? -value : value;
  }

  // The code has no branches, so that loops over it become vector code.
  template <Rounding rounding> static Code encode(float x) {
    uint32_t bits = std::bit_cast<uint32_t>(x), a = bits & 0x7fffffffu;
    constexpr unsigned drop = 23 - man;
    constexpr uint32_t rebias = uint32_t(127 - exponentBias) << man, leastNormal = uint32_t(128 - exponentBias) << 23;
    constexpr float steps =
        std::bit_cast<float>(uint32_t(126 + exponentBias + int(man)) << 23);  // 1 / quantum of the subnormals
    float scaled = std::bit_cast<float>(a < leastNormal ? a : 0u) * steps;
    uint32_t normal, small;
    if constexpr (rounding == Rounding::NearestEven) {
      normal = ((a + ((a >> drop) & 1) + ((1u << (drop - 1)) - 1)) >> drop) - rebias;
      small = std::bit_cast<uint32_t>(scaled + 8388608.0f) - 0x4b000000u;
    } else {
      normal = (a >> drop) - rebias;
      small = static_cast<uint32_t>(static_cast<int32_t>(scaled));
    }
    uint32_t code = a < leastNormal ? small : normal;
    constexpr bool toInfinity = kind == Specials::Ieee && !saturates && rounding == Rounding::NearestEven;
    constexpr uint32_t limit = toInfinity ? infinity : maxCode;
    code = code > limit ? limit : code;
    if constexpr (kind == Specials::Ieee && rounding == Rounding::TowardZero) code = a == 0x7f800000u ? infinity : code;
    uint32_t sign = bits >> 31 ? signBit : 0;
    if constexpr (kind == Specials::Fnuz) sign = code == 0 ? 0 : sign;
    return static_cast<Code>(a > 0x7f800000u ? (kind == Specials::Ieee && !saturates ? nan | sign : nan) : code | sign);
  }
};

// bfloat16: the upper half of a float.
template <> struct FloatFormat<8, 7, 127, Specials::Ieee, false> {
  using Code = uint16_t;
  static constexpr uint32_t nan = 0x7fc0;
  static constexpr float decode(Code code) { return std::bit_cast<float>(uint32_t(code) << 16); }
  template <Rounding rounding> static Code encode(float x) {
    uint32_t bits = std::bit_cast<uint32_t>(x);
    uint32_t rounded = rounding == Rounding::NearestEven ? bits + 0x7fffu + ((bits >> 16) & 1) : bits;
    return static_cast<Code>(((bits & 0x7fffffffu) > 0x7f800000u ? bits | 0x400000u : rounded) >> 16);
  }
};

// Float16, BFloat16, Float8E4M3FN, ...: as MLIR calls them. Numbers beyond a format of 8 bits become its largest.
#define TANDEM_ROW(dtype, scalar, elem, mlirType, word, tl, framework, bits, mantissa, bias, specials, dlpack) \
  using mlirType = FloatFormat<bits - 1 - mantissa, mantissa, bias, Specials::specials, bits == 8>;
TANDEM_NARROW_FLOAT_TYPES(TANDEM_ROW)
#undef TANDEM_ROW

// f(Float16{}) for Elem::F16, and so on; a default value for another element.
template <class F> auto forNarrow(Elem e, F f) -> decltype(f(BFloat16{})) {
  switch (e) {
#define TANDEM_ROW(dtype, scalar, elem, mlirType, ...) \
  case Elem::elem: return f(mlirType{});
    TANDEM_NARROW_FLOAT_TYPES(TANDEM_ROW)
#undef TANDEM_ROW
    default: return {};
  }
}

// n elements to float, exactly.
template <class Format> void decodeArray(const typename Format::Code* in, float* out, size_t n);
// n floats rounded to the format. `out` may be `in`'s memory.
template <class Format, Rounding rounding> void encodeArray(const float* in, typename Format::Code* out, size_t n);

// The float of which every narrower format rounds as the double would: the last bit says whether anything was cut off.
inline float roundToOdd(double x) {
  float nearest = static_cast<float>(x);
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  uint32_t cut = std::fabs(static_cast<double>(nearest)) > std::fabs(x) ? bits - 1 : bits;
  return std::bit_cast<float>(static_cast<double>(nearest) == x || x != x ? bits : cut | 1);
}

}  // namespace tandem::interpreter
