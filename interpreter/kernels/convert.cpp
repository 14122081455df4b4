// Conversions with an integer on either side, and bit casts.
#include "interpreter/kernels/families.h"
#include "interpreter/kernels/loops.h"
#include "interpreter/kernels/saturate.h"

namespace tandem::interpreter {
namespace {

template <size_t bytes> void copyLoop(const void* a, void* out, size_t n) {
  if (n != 0) std::memmove(out, a, n * bytes);
}

// A one-operand loop whose result may be wider than its operand.
template <class T, class Out, class Op> void widenLoop(const void* a, void* out, size_t n) {
  StableInput stable(a, n * sizeof(T), out, n * sizeof(Out));
  unaryLoop<T, Out, Op>(stable.data(), out, n);
}

template <class From, class To, bool isSigned> struct Resize {
  static typename To::U apply(typename From::U a) {
    if constexpr (isSigned)
      return To::store(static_cast<typename To::Unsigned>(From::asSigned(a)));
    else
      return To::store(static_cast<typename To::Unsigned>(a));
  }
};

template <bool isSigned> UnaryKernel resizeOf(Elem from, Elem to) {
  return forInteger(from, [&]<class From>(From) {
    return forInteger(to, []<class To>(To) -> UnaryKernel {
      return widenLoop<typename From::U, typename To::U, Resize<From, To, isSigned>>;
    });
  });
}

template <class I, bool isSigned> auto value(typename I::U a) {
  if constexpr (isSigned)
    return I::asSigned(a);
  else
    return static_cast<typename I::Unsigned>(a);
}

// A conversion to a narrow float goes through a double that rounds as the integer would: below 2^53 it is exact; above,
// the last of the kept bits stands for the dropped ones.
inline double toOddDouble(uint64_t magnitude) {
  uint64_t high = magnitude >> 11 | static_cast<uint64_t>((magnitude & 0x7ff) != 0);
  return magnitude >> 53 ? static_cast<double>(high) * 2048.0 : static_cast<double>(magnitude);
}
template <class V> float toOddFloat(V v) {
  if constexpr (sizeof(V) <= 4)
    return roundToOdd(static_cast<double>(v));
  else if constexpr (std::is_signed_v<V>) {
    uint64_t bits = static_cast<uint64_t>(v);
    float magnitude = roundToOdd(toOddDouble(v < 0 ? uint64_t{0} - bits : bits));
    return v < 0 ? -magnitude : magnitude;
  } else
    return roundToOdd(toOddDouble(v));
}

template <class I, class Float, bool isSigned> struct IntToFloat {
  static Float apply(typename I::U a) { return static_cast<Float>(value<I, isSigned>(a)); }
};
template <class I, class Format, bool isSigned> struct IntToNarrow {
  static typename Format::Code apply(typename I::U a) {
    return Format::template encode<Rounding::NearestEven>(toOddFloat(value<I, isSigned>(a)));
  }
};

template <bool isSigned> UnaryKernel intToFloatOf(Elem from, Elem to) {
  return forInteger(from, [&]<class I>(I) -> UnaryKernel {
    if (to == Elem::F32) return widenLoop<typename I::U, float, IntToFloat<I, float, isSigned>>;
    if (to == Elem::F64) return widenLoop<typename I::U, double, IntToFloat<I, double, isSigned>>;
    return forNarrow(to, []<class Format>(Format) -> UnaryKernel {
      return widenLoop<typename I::U, typename Format::Code, IntToNarrow<I, Format, isSigned>>;
    });
  });
}

template <class Format, class I, bool isSigned> void narrowToInt(const void* a, void* out, size_t n) {
  using Code = typename Format::Code;
  StableInput stable(a, n * sizeof(Code), out, n * sizeof(typename I::U));
  alignas(64) float x[kBlock];
  for (size_t at = 0; at < n; at += kBlock) {
    size_t count = std::min(kBlock, n - at);
    decodeArray<Format>(static_cast<const Code*>(stable.data()) + at, x, count);
    unaryLoop<float, typename I::U, FloatToInt<float, I, isSigned>>(x, static_cast<typename I::U*>(out) + at, count);
  }
}

template <bool isSigned> UnaryKernel floatToIntOf(Elem from, Elem to) {
  return forInteger(to, [&]<class I>(I) -> UnaryKernel {
    if (from == Elem::F32) return widenLoop<float, typename I::U, FloatToInt<float, I, isSigned>>;
    if (from == Elem::F64) return widenLoop<double, typename I::U, FloatToInt<double, I, isSigned>>;
    return forNarrow(from, []<class Format>(Format) -> UnaryKernel { return narrowToInt<Format, I, isSigned>; });
  });
}

UnaryKernel bitcastOf(Elem from, Elem to) {
  if (bitWidth(from) != bitWidth(to)) return nullptr;
  switch (byteSize(from)) {
    case 1: return copyLoop<1>;
    case 2: return copyLoop<2>;
    case 4: return copyLoop<4>;
    default: return copyLoop<8>;
  }
}

}  // namespace

UnaryKernel convertKernel(ConvertOp op, Elem from, Elem to) {
  bool wider = bitWidth(to) > bitWidth(from), narrower = bitWidth(to) < bitWidth(from);
  switch (op) {
    case ConvertOp::Bitcast: return bitcastOf(from, to);
    case ConvertOp::TruncI: return narrower ? resizeOf<false>(from, to) : nullptr;
    case ConvertOp::ExtS: return wider ? resizeOf<true>(from, to) : nullptr;
    case ConvertOp::ExtU: return wider ? resizeOf<false>(from, to) : nullptr;
    case ConvertOp::SToF: return intToFloatOf<true>(from, to);
    case ConvertOp::UToF: return intToFloatOf<false>(from, to);
    case ConvertOp::FToS: return floatToIntOf<true>(from, to);
    case ConvertOp::FToU: return floatToIntOf<false>(from, to);
    case ConvertOp::FToF: return floatToFloat(Rounding::NearestEven, from, to);
    case ConvertOp::FToFRtz: return floatToFloat(Rounding::TowardZero, from, to);
  }
  return nullptr;
}

}  // namespace tandem::interpreter
