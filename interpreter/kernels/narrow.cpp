// Whole arrays of narrow floats to and from float, with the machine's conversion instructions where it has them.
#include "interpreter/kernels/narrow.h"
#include <array>
#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace tandem::interpreter {
namespace {

template <class Format> constexpr std::array<float, 256> decodeTable() {
  std::array<float, 256> table{};
  for (unsigned code = 0; code < 256; ++code) table[code] = Format::decode(static_cast<uint8_t>(code));
  return table;
}

template <class Format> constexpr std::array<float, 256> kDecoded = decodeTable<Format>();

// Converts a prefix by instructions and says how long it is.
size_t decodeHalfPrefix([[maybe_unused]] const uint16_t* in, [[maybe_unused]] float* out, [[maybe_unused]] size_t n) {
  size_t i = 0;
#if defined(__F16C__)
  for (; i + 8 <= n; i += 8)
    _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i))));
#endif
  return i;
}

size_t encodeHalfPrefix([[maybe_unused]] const float* in, [[maybe_unused]] uint16_t* out, [[maybe_unused]] size_t n) {
  size_t i = 0;
#if defined(__F16C__)
  for (; i + 8 <= n; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT));
#endif
  return i;
}

}  // namespace

template <class Format> void decodeArray(const typename Format::Code* in, float* out, size_t n) {
  size_t i = 0;
  if constexpr (std::is_same_v<Format, Float16>) i = decodeHalfPrefix(in, out, n);
  if constexpr (sizeof(typename Format::Code) == 1) {
    for (; i < n; ++i) out[i] = kDecoded<Format>[in[i]];
  } else {
    for (; i < n; ++i) out[i] = Format::decode(in[i]);
  }
}

template <class Format, Rounding rounding> void encodeArray(const float* in, typename Format::Code* out, size_t n) {
  size_t i = 0;
  if constexpr (std::is_same_v<Format, Float16> && rounding == Rounding::NearestEven) i = encodeHalfPrefix(in, out, n);
#pragma clang loop vectorize(assume_safety)
  for (size_t j = i; j < n; ++j) out[j] = Format::template encode<rounding>(in[j]);
}

#define TANDEM_ROW(dtype, scalar, elem, mlirType, ...)                                               \
  template void decodeArray<mlirType>(const mlirType::Code*, float*, size_t);                        \
  template void encodeArray<mlirType, Rounding::NearestEven>(const float*, mlirType::Code*, size_t); \
  template void encodeArray<mlirType, Rounding::TowardZero>(const float*, mlirType::Code*, size_t);
TANDEM_NARROW_FLOAT_TYPES(TANDEM_ROW)
#undef TANDEM_ROW

}  // namespace tandem::interpreter
