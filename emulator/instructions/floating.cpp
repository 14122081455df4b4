// Arithmetic of floating-point types: add, sub, mul, fma, min, max, neg, abs, div and the functions of one operand.
#include "emulator/instructions/families.h"
#include "emulator/instructions/integers.h"
#include "emulator/instructions/lanes.h"
#include <cfenv>
#include <cmath>

namespace tandem::emulator {
namespace {

struct Add {
  template <class T> T operator()(T a, T b) const { return a + b; }
};
struct Subtract {
  template <class T> T operator()(T a, T b) const { return a - b; }
};
struct Multiply {
  template <class T> T operator()(T a, T b) const { return a * b; }
};
struct Divide {
  template <class T> T operator()(T a, T b) const { return a / b; }
};
struct Fuse {
  template <class T> T operator()(T a, T b, T c) const { return std::fma(a, b, c); }
};
// A NaN gives the other operand, and -0 is less than +0.
struct Minimum {
  template <class T> T operator()(T a, T b) const {
    if (std::isnan(a)) return b;
    if (std::isnan(b)) return a;
    return a < b || (a == b && std::signbit(a)) ? a : b;
  }
};
struct Maximum {
  template <class T> T operator()(T a, T b) const {
    if (std::isnan(a)) return b;
    if (std::isnan(b)) return a;
    return a < b || (a == b && std::signbit(a)) ? b : a;
  }
};
template <class F>
struct KeepsNan {
  template <class T> T operator()(T a, T b) const { return std::isnan(a) || std::isnan(b) ? T(NAN) : F()(a, b); }
};
struct Negate {
  template <class T> T operator()(T a) const { return -a; }
};
struct Absolute {
  template <class T> T operator()(T a) const { return std::fabs(a); }
};
struct CopySign {  // copysign d, a, b: the sign of a, the size of b
  template <class T> T operator()(T a, T b) const { return std::copysign(b, a); }
};

struct Reciprocal {
  template <class T> T operator()(T a) const { return T(1) / a; }
};
struct SquareRoot {
  template <class T> T operator()(T a) const { return std::sqrt(a); }
};
struct ReciprocalRoot {
  template <class T> T operator()(T a) const { return T(1 / std::sqrt(double(a))); }
};
struct Sine {
  template <class T> T operator()(T a) const { return std::sin(a); }
};
struct Cosine {
  template <class T> T operator()(T a) const { return std::cos(a); }
};
struct Logarithm {
  template <class T> T operator()(T a) const { return std::log2(a); }
};
struct Power {
  template <class T> T operator()(T a) const { return std::exp2(a); }
};
struct HyperbolicTangent {
  template <class T> T operator()(T a) const { return std::tanh(a); }
};

template <class F>
struct Flush {
  template <class... T> auto operator()(T... a) const { return flushed(F()(flushed(a)...)); }
};
template <class F>
struct Saturate {  // to [0, 1]; a NaN becomes 0
  template <class T, class... U> T operator()(T a, U... b) const {
    T value = F()(a, b...);
    return value > 0 ? std::min(value, T(1)) : T(0);
  }
};
template <class F>
struct Rectify {  // negative numbers become 0
  template <class T, class... U> T operator()(T a, U... b) const {
    T value = F()(a, b...);
    return std::isnan(value) ? T(NAN) : value > 0 ? value : T(0);
  }
};

// f16 and bf16: sums and products of two are exact enough in float to round once more; a fused sum is rounded to odd first.
template <class F>
struct Narrow {
  template <class T, class... U> T operator()(T a, U... b) const {
    if constexpr (isTwo<T>) {
      return {(*this)(a.low, b.low...), (*this)(a.high, b.high...)};
    } else {
      return T::of(F()(float(a), float(b)...));
    }
  }
};
template <>
struct Narrow<Fuse> {
  template <class T> T operator()(T a, T b, T c) const {
    if constexpr (isTwo<T>)
      return {(*this)(a.low, b.low, c.low), (*this)(a.high, b.high, c.high)};
    else
      return T::of(addToOdd(double(float(a)) * double(float(b)), double(float(c))));
  }
};
template <>
struct Narrow<Rectify<Fuse>> {
  template <class T> T operator()(T a, T b, T c) const {
    if constexpr (isTwo<T>) {
      return {(*this)(a.low, b.low, c.low), (*this)(a.high, b.high, c.high)};
    } else {
      T value = Narrow<Fuse>()(a, b, c);
      return std::isnan(float(value)) || float(value) > 0 ? value : T{0};
    }
  }
};
// Signs of NaN are kept.
template <>
struct Narrow<Negate> {
  template <class T> T operator()(T a) const {
    if constexpr (isTwo<T>)
      return {(*this)(a.low), (*this)(a.high)};
    else
      return {uint16_t(a.bits ^ 0x8000)};
  }
};
template <>
struct Narrow<Absolute> {
  template <class T> T operator()(T a) const {
    if constexpr (isTwo<T>)
      return {(*this)(a.low), (*this)(a.high)};
    else
      return {uint16_t(a.bits & 0x7fff)};
  }
};

template <class T, class F, int kOperands>
constexpr Handler loop() {
  if constexpr (kOperands == 1) return unary<T, F>;
  if constexpr (kOperands == 2) return binary<T, F>;
  if constexpr (kOperands == 3) return ternary<T, F>;
}

// The host rounds as the instruction says while it works.
template <Handler inner, int kMode>
Outcome withRounding(Warp& warp, const Instruction& in, Mask active) {
  std::fesetround(kMode);
  Outcome outcome = inner(warp, in, active);
  std::fesetround(FE_TONEAREST);
  return outcome;
}

template <Handler inner>
Handler rounded(Decoder& d) {
  if (d.take("rz")) return withRounding<inner, FE_TOWARDZERO>;
  if (d.take("rm")) return withRounding<inner, FE_DOWNWARD>;
  if (d.take("rp")) return withRounding<inner, FE_UPWARD>;
  d.take("rn");
  return inner;
}

template <class F, int kOperands>
Handler formOf(Decoder& d, Type type) {
  bool isFlushed = d.take("ftz"), isSaturated = d.take("sat"), isRectified = d.take("relu");
  if (type == Type::F64) return rounded<loop<double, F, kOperands>()>(d);
  if (type == Type::F32) {
    if (isFlushed && isSaturated) return rounded<loop<float, Saturate<Flush<F>>, kOperands>()>(d);
    if (isFlushed) return rounded<loop<float, Flush<F>, kOperands>()>(d);
    return isSaturated ? rounded<loop<float, Saturate<F>, kOperands>()>(d) : rounded<loop<float, F, kOperands>()>(d);
  }
  d.take("rn");
  if (isSaturated) return nullptr;
  auto narrow = [&]<class G>() -> Handler {
    switch (type) {
      case Type::F16: return loop<Half, Narrow<G>, kOperands>();
      case Type::F16x2: return loop<Two<Half>, Narrow<G>, kOperands>();
      case Type::BF16: return loop<Brain, Narrow<G>, kOperands>();
      case Type::BF16x2: return loop<Two<Brain>, Narrow<G>, kOperands>();
      default: return nullptr;
    }
  };
  if constexpr (std::is_same_v<F, Fuse>)
    if (isRectified) return narrow.template operator()<Rectify<F>>();
  return isRectified ? nullptr : narrow.template operator()<F>();
}

template <class F>
void function(Decoder& d) {
  d.ignore({"approx", "full"});
  Type type = d.takeType();
  d.out.handler = formOf<F, 1>(d, type);
  readOperands(d, type);
}

}  // namespace

Handler floatingForm(Decoder& d, Type type) {
  const std::string& op = d.statement.opcode;
  if (op == "add") return formOf<Add, 2>(d, type);
  if (op == "sub") return formOf<Subtract, 2>(d, type);
  if (op == "mul") return formOf<Multiply, 2>(d, type);
  if (op == "fma" || op == "mad") return formOf<Fuse, 3>(d, type);
  if (op == "neg") return formOf<Negate, 1>(d, type);
  if (op == "abs") return formOf<Absolute, 1>(d, type);
  d.ignore({"approx", "full"});
  if (op == "div") return formOf<Divide, 2>(d, type);
  bool keepsNan = d.take("NaN");
  if (op == "min") return keepsNan ? formOf<KeepsNan<Minimum>, 2>(d, type) : formOf<Minimum, 2>(d, type);
  if (op == "max") return keepsNan ? formOf<KeepsNan<Maximum>, 2>(d, type) : formOf<Maximum, 2>(d, type);
  return op == "copysign" ? formOf<CopySign, 2>(d, type) : nullptr;
}

std::span<const Family> functionFamilies() {
  static constexpr Family kFamilies[] = {
      {"rcp", function<Reciprocal>},
      {"sqrt", function<SquareRoot>},
      {"rsqrt", function<ReciprocalRoot>},
      {"sin", function<Sine>},
      {"cos", function<Cosine>},
      {"lg2", function<Logarithm>},
      {"ex2", function<Power>},
      {"tanh", function<HyperbolicTangent>},
  };
  return kFamilies;
}

}  // namespace tandem::emulator
