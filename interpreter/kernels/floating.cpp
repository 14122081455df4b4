// Float arithmetic and elementary functions on f32 and f64, and through them on the narrower floats.
#include "interpreter/kernels/families.h"
#include "interpreter/kernels/fast_math.h"
#include "interpreter/kernels/loops.h"

namespace tandem::interpreter {
namespace {

template <class T> using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

struct AddF {
  template <class T> static T apply(T a, T b) { return a + b; }
};
struct SubF {
  template <class T> static T apply(T a, T b) { return a - b; }
};
struct MulF {
  template <class T> static T apply(T a, T b) { return a * b; }
};
struct DivF {
  template <class T> static T apply(T a, T b) { return a / b; }
};
struct RemF {
  template <class T> static T apply(T a, T b) { return std::fmod(a, b); }
};
struct PowF {
  template <class T> static T apply(T a, T b) { return std::pow(a, b); }
};
struct Atan2 {
  template <class T> static T apply(T a, T b) { return std::atan2(a, b); }
};
struct CopySign {
  template <class T> static T apply(T a, T b) { return std::copysign(a, b); }
};

// Equal operands may be zeros of different signs: their bits decide.
template <class T> T bothBits(T a, T b) {
  return std::bit_cast<T>(std::bit_cast<Bits<T>>(a) & std::bit_cast<Bits<T>>(b));
}
template <class T> T eitherBits(T a, T b) {
  return std::bit_cast<T>(std::bit_cast<Bits<T>>(a) | std::bit_cast<Bits<T>>(b));
}
struct MinNumF {
  template <class T> static T apply(T a, T b) {
    T least = ((a < b) | (b != b)) ? a : b;
    return a == b ? eitherBits(a, b) : least;
  }
};
struct MaxNumF {
  template <class T> static T apply(T a, T b) {
    T most = ((a > b) | (b != b)) ? a : b;
    return a == b ? bothBits(a, b) : most;
  }
};
struct MinimumF {
  template <class T> static T apply(T a, T b) { return ((a != a) | (b != b)) ? a + b : MinNumF::apply(a, b); }
};
struct MaximumF {
  template <class T> static T apply(T a, T b) { return ((a != a) | (b != b)) ? a + b : MaxNumF::apply(a, b); }
};

struct NegF {
  template <class T> static T apply(T a) { return -a; }
};
struct AbsF {
  template <class T> static T apply(T a) { return std::fabs(a); }
};
struct Ceil {
  template <class T> static T apply(T a) { return std::ceil(a); }
};
struct Floor {
  template <class T> static T apply(T a) { return std::floor(a); }
};
struct Trunc {
  template <class T> static T apply(T a) { return std::trunc(a); }
};
struct Round {
  template <class T> static T apply(T a) { return std::round(a); }
};
struct RoundEven {
  template <class T> static T apply(T a) { return std::nearbyint(a); }
};
struct Sqrt {
  template <class T> static T apply(T a) { return std::sqrt(a); }
};
struct Rsqrt {
  static float apply(float a) { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(a))); }
  static double apply(double a) { return 1.0 / std::sqrt(a); }
};
struct Exp {
  static float apply(float a) { return fastExp(a); }
  static double apply(double a) { return std::exp(a); }
};
struct Exp2 {
  static float apply(float a) { return fastExp2(a); }
  static double apply(double a) { return std::exp2(a); }
};
struct Log {
  static float apply(float a) { return fastLog(a); }
  static double apply(double a) { return std::log(a); }
};
struct Log2 {
  static float apply(float a) { return fastLog2(a); }
  static double apply(double a) { return std::log2(a); }
};
struct Log10 {
  static float apply(float a) { return fastLog10(a); }
  static double apply(double a) { return std::log10(a); }
};
struct Tanh {
  static float apply(float a) { return fastTanh(a); }
  static double apply(double a) { return std::tanh(a); }
};
struct FastSin {
  static float apply(float a) { return fastSin(a); }
};
struct FastCos {
  static float apply(float a) { return fastCos(a); }
};
struct Sin {
  template <class T> static T apply(T a) { return std::sin(a); }
};
struct Cos {
  template <class T> static T apply(T a) { return std::cos(a); }
};
struct ExpM1 {
  template <class T> static T apply(T a) { return std::expm1(a); }
};
struct Log1p {
  template <class T> static T apply(T a) { return std::log1p(a); }
};
struct Tan {
  template <class T> static T apply(T a) { return std::tan(a); }
};
struct Asin {
  template <class T> static T apply(T a) { return std::asin(a); }
};
struct Acos {
  template <class T> static T apply(T a) { return std::acos(a); }
};
struct Atan {
  template <class T> static T apply(T a) { return std::atan(a); }
};
struct Sinh {
  template <class T> static T apply(T a) { return std::sinh(a); }
};
struct Cosh {
  template <class T> static T apply(T a) { return std::cosh(a); }
};
struct Asinh {
  template <class T> static T apply(T a) { return std::asinh(a); }
};
struct Acosh {
  template <class T> static T apply(T a) { return std::acosh(a); }
};
struct Atanh {
  template <class T> static T apply(T a) { return std::atanh(a); }
};
struct Erf {
  static float apply(float a) { return fastErf(a); }
  static double apply(double a) { return std::erf(a); }
};
struct Erfc {
  template <class T> static T apply(T a) { return std::erfc(a); }
};
struct Cbrt {
  template <class T> static T apply(T a) { return std::cbrt(a); }
};
struct IsNan {
  template <class T> static bool apply(T a) { return a != a; }
};
struct IsInf {
  template <class T> static bool apply(T a) { return std::fabs(a) == std::numeric_limits<T>::infinity(); }
};
struct IsFinite {
  template <class T> static bool apply(T a) { return std::fabs(a) < std::numeric_limits<T>::infinity(); }
};

// The vector form where every argument of a block is small enough for it.
template <class Fast, class Exact> void trigonometricLoop(const void* a, void* out, size_t n) {
  auto* x = static_cast<const float*>(a);
  auto* o = static_cast<float*>(out);
  for (size_t at = 0; at < n; at += kBlock) {
    size_t count = std::min(kBlock, n - at);
    unsigned large = 0;
    for (size_t i = 0; i < count; ++i) large |= !(std::fabs(x[at + i]) <= kTrigonometricLimit);
    (large ? unaryLoop<float, float, Exact> : unaryLoop<float, float, Fast>)(x + at, o + at, count);
  }
}

template <UnaryKernel single, UnaryKernel twice> UnaryKernel unaryOf(Elem elem) {
  if (elem == Elem::F64) return twice;
  if (elem == Elem::F32) return single;
  return forNarrow(elem, []<class Format>(Format) -> UnaryKernel { return narrowUnary<Format, single>; });
}
template <class Op> UnaryKernel unaryOf(Elem elem) {
  return unaryOf<unaryLoop<float, float, Op>, unaryLoop<double, double, Op>>(elem);
}

template <class Op> UnaryKernel predicateOf(Elem elem) {
  if (elem == Elem::F64) return unaryLoop<double, uint8_t, Op>;
  if (elem == Elem::F32) return unaryLoop<float, uint8_t, Op>;
  return forNarrow(
      elem, []<class Format>(Format) -> UnaryKernel { return narrowPredicate<Format, unaryLoop<float, uint8_t, Op>>; });
}

template <class Op> BinaryKernel binaryOf(Elem elem) {
  if (elem == Elem::F64) return binaryLoop<double, double, Op>;
  if (elem == Elem::F32) return binaryLoop<float, float, Op>;
  return forNarrow(
      elem, []<class Format>(Format) -> BinaryKernel { return narrowBinary<Format, binaryLoop<float, float, Op>>; });
}

}  // namespace

BinaryKernel floatBinary(BinaryOp op, Elem elem) {
  switch (op) {
    case BinaryOp::AddF: return binaryOf<AddF>(elem);
    case BinaryOp::SubF: return binaryOf<SubF>(elem);
    case BinaryOp::MulF: return binaryOf<MulF>(elem);
    case BinaryOp::DivF: return binaryOf<DivF>(elem);
    case BinaryOp::RemF: return binaryOf<RemF>(elem);
    case BinaryOp::MinNumF: return binaryOf<MinNumF>(elem);
    case BinaryOp::MaxNumF: return binaryOf<MaxNumF>(elem);
    case BinaryOp::MinimumF: return binaryOf<MinimumF>(elem);
    case BinaryOp::MaximumF: return binaryOf<MaximumF>(elem);
    case BinaryOp::PowF: return binaryOf<PowF>(elem);
    case BinaryOp::Atan2: return binaryOf<Atan2>(elem);
    case BinaryOp::CopySign: return binaryOf<CopySign>(elem);
    default: return nullptr;
  }
}

UnaryKernel floatUnary(UnaryOp op, Elem elem) {
  switch (op) {
    case UnaryOp::NegF: return unaryOf<NegF>(elem);
    case UnaryOp::AbsF: return unaryOf<AbsF>(elem);
    case UnaryOp::Ceil: return unaryOf<Ceil>(elem);
    case UnaryOp::Floor: return unaryOf<Floor>(elem);
    case UnaryOp::Trunc: return unaryOf<Trunc>(elem);
    case UnaryOp::Round: return unaryOf<Round>(elem);
    case UnaryOp::RoundEven: return unaryOf<RoundEven>(elem);
    case UnaryOp::Sqrt: return unaryOf<Sqrt>(elem);
    case UnaryOp::Rsqrt: return unaryOf<Rsqrt>(elem);
    case UnaryOp::Exp: return unaryOf<Exp>(elem);
    case UnaryOp::Exp2: return unaryOf<Exp2>(elem);
    case UnaryOp::ExpM1: return unaryOf<ExpM1>(elem);
    case UnaryOp::Log: return unaryOf<Log>(elem);
    case UnaryOp::Log2: return unaryOf<Log2>(elem);
    case UnaryOp::Log10: return unaryOf<Log10>(elem);
    case UnaryOp::Log1p: return unaryOf<Log1p>(elem);
    case UnaryOp::Sin: return unaryOf<trigonometricLoop<FastSin, Sin>, unaryLoop<double, double, Sin>>(elem);
    case UnaryOp::Cos: return unaryOf<trigonometricLoop<FastCos, Cos>, unaryLoop<double, double, Cos>>(elem);
    case UnaryOp::Tan: return unaryOf<Tan>(elem);
    case UnaryOp::Asin: return unaryOf<Asin>(elem);
    case UnaryOp::Acos: return unaryOf<Acos>(elem);
    case UnaryOp::Atan: return unaryOf<Atan>(elem);
    case UnaryOp::Sinh: return unaryOf<Sinh>(elem);
    case UnaryOp::Cosh: return unaryOf<Cosh>(elem);
    case UnaryOp::Tanh: return unaryOf<Tanh>(elem);
    case UnaryOp::Asinh: return unaryOf<Asinh>(elem);
    case UnaryOp::Acosh: return unaryOf<Acosh>(elem);
    case UnaryOp::Atanh: return unaryOf<Atanh>(elem);
    case UnaryOp::Erf: return unaryOf<Erf>(elem);
    case UnaryOp::Erfc: return unaryOf<Erfc>(elem);
    case UnaryOp::Cbrt: return unaryOf<Cbrt>(elem);
    case UnaryOp::IsNan: return predicateOf<IsNan>(elem);
    case UnaryOp::IsInf: return predicateOf<IsInf>(elem);
    case UnaryOp::IsFinite: return predicateOf<IsFinite>(elem);
    default: return nullptr;
  }
}

}  // namespace tandem::interpreter
