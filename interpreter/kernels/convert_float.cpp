// Conversions between float formats, in blocks through float: exact on the way in, one rounding on the way out.
#include "interpreter/kernels/families.h"
#include "interpreter/kernels/loops.h"

namespace tandem::interpreter {
namespace {

template <class T> void copyLoop(const void* a, void* out, size_t n) {
  if (n != 0) std::memmove(out, a, n * sizeof(T));
}

struct Widen {
  static double apply(float a) { return static_cast<double>(a); }
};
struct ToOdd {
  static float apply(double a) { return roundToOdd(a); }
};
struct NearestFloat {
  static float apply(double a) { return static_cast<float>(a); }
};
// One step back where rounding to nearest went away from zero.
struct TruncatedFloat {
  static float apply(double a) {
    float nearest = static_cast<float>(a);
    uint32_t bits = std::bit_cast<uint32_t>(nearest);
    return std::bit_cast<float>(std::fabs(static_cast<double>(nearest)) > std::fabs(a) ? bits - 1 : bits);
  }
};

void floatToDouble(const void* a, void* out, size_t n) {
  StableInput stable(a, n * sizeof(float), out, n * sizeof(double));
  unaryLoop<float, double, Widen>(stable.data(), out, n);
}

template <class Format> void narrowToFloat(const void* a, void* out, size_t n) {
  using Code = typename Format::Code;
  StableInput stable(a, n * sizeof(Code), out, n * sizeof(float));
  decodeArray<Format>(static_cast<const Code*>(stable.data()), static_cast<float*>(out), n);
}

template <class Format> void narrowToDouble(const void* a, void* out, size_t n) {
  using Code = typename Format::Code;
  StableInput stable(a, n * sizeof(Code), out, n * sizeof(double));
  alignas(64) float x[kBlock];
  for (size_t at = 0; at < n; at += kBlock) {
    size_t count = std::min(kBlock, n - at);
    decodeArray<Format>(static_cast<const Code*>(stable.data()) + at, x, count);
    unaryLoop<float, double, Widen>(x, static_cast<double*>(out) + at, count);
  }
}

template <class Format, Rounding rounding> void floatToNarrow(const void* a, void* out, size_t n) {
  encodeArray<Format, rounding>(static_cast<const float*>(a), static_cast<typename Format::Code*>(out), n);
}

template <class Format, Rounding rounding> void doubleToNarrow(const void* a, void* out, size_t n) {
  alignas(64) float x[kBlock];
  for (size_t at = 0; at < n; at += kBlock) {
    size_t count = std::min(kBlock, n - at);
    unaryLoop<double, float, ToOdd>(static_cast<const double*>(a) + at, x, count);
    encodeArray<Format, rounding>(x, static_cast<typename Format::Code*>(out) + at, count);
  }
}

template <class From, class To, Rounding rounding> void narrowToNarrow(const void* a, void* out, size_t n) {
  StableInput stable(a, n * sizeof(typename From::Code), out, n * sizeof(typename To::Code));
  alignas(64) float x[kBlock];
  for (size_t at = 0; at < n; at += kBlock) {
    size_t count = std::min(kBlock, n - at);
    decodeArray<From>(static_cast<const typename From::Code*>(stable.data()) + at, x, count);
    encodeArray<To, rounding>(x, static_cast<typename To::Code*>(out) + at, count);
  }
}

template <Rounding rounding> UnaryKernel fromFloat(Elem to) {
  if (to == Elem::F64) return floatToDouble;
  if (to == Elem::F32) return copyLoop<float>;
  return forNarrow(to, []<class To>(To) -> UnaryKernel { return floatToNarrow<To, rounding>; });
}

template <Rounding rounding> UnaryKernel fromDouble(Elem to) {
  using ToFloat = std::conditional_t<rounding == Rounding::NearestEven, NearestFloat, TruncatedFloat>;
  if (to == Elem::F64) return copyLoop<double>;
  if (to == Elem::F32) return unaryLoop<double, float, ToFloat>;
  return forNarrow(to, []<class To>(To) -> UnaryKernel { return doubleToNarrow<To, rounding>; });
}

template <Rounding rounding> UnaryKernel fromNarrow(Elem from, Elem to) {
  return forNarrow(from, [&]<class From>(From) -> UnaryKernel {
    if (to == Elem::F64) return narrowToDouble<From>;
    if (to == Elem::F32) return narrowToFloat<From>;
    return forNarrow(to, []<class To>(To) -> UnaryKernel { return narrowToNarrow<From, To, rounding>; });
  });
}

template <Rounding rounding> UnaryKernel between(Elem from, Elem to) {
  return from == Elem::F64   ? fromDouble<rounding>(to)
         : from == Elem::F32 ? fromFloat<rounding>(to)
                             : fromNarrow<rounding>(from, to);
}

}  // namespace

UnaryKernel floatToFloat(Rounding rounding, Elem from, Elem to) {
  if (!isFloat(from) || !isFloat(to)) return nullptr;
  return rounding == Rounding::NearestEven ? between<Rounding::NearestEven>(from, to)
                                           : between<Rounding::TowardZero>(from, to);
}

}  // namespace tandem::interpreter
