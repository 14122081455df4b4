// Integer arithmetic.
#include "emulator/instructions/integers.h"
#include "emulator/instructions/lanes.h"
#include <algorithm>

namespace tandem::emulator {
namespace {

template <class T> using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
template <class T>
using Doubled = std::conditional_t<
    sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>,
    std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>, Wide<T>>>;
template <class T> using Bits = std::make_unsigned_t<T>;

struct Add {
  template <class T> T operator()(T a, T b) const { return T(Bits<T>(a) + Bits<T>(b)); }
};
struct Subtract {
  template <class T> T operator()(T a, T b) const { return T(Bits<T>(a) - Bits<T>(b)); }
};
struct Minimum {
  template <class T> T operator()(T a, T b) const { return a < b ? a : b; }
};
struct Maximum {
  template <class T> T operator()(T a, T b) const { return a < b ? b : a; }
};
// A GPU divides by 0 without an error: all bits are set.
struct Divide {
  template <class T> T operator()(T a, T b) const {
    if (b == 0) return T(~T(0));
    if (std::is_signed_v<T> && b == T(-1)) return T(0 - Bits<T>(a));
    return T(a / b);
  }
};
struct Remainder {
  template <class T> T operator()(T a, T b) const {
    if (b == 0) return a;
    if (std::is_signed_v<T> && b == T(-1)) return 0;
    return T(a % b);
  }
};
struct Negate {
  template <class T> T operator()(T a) const { return T(0 - Bits<T>(a)); }
};
struct Absolute {
  template <class T> T operator()(T a) const { return a < 0 ? T(0 - Bits<T>(a)) : a; }
};
struct Low {
  template <class T> T operator()(T a, T b) const { return T(uint64_t(a) * uint64_t(b)); }
  template <class T> T operator()(T a, T b, T c) const { return T(uint64_t(a) * uint64_t(b) + uint64_t(c)); }
};
struct High {
  template <class T> T operator()(T a, T b) const { return T(Doubled<T>(Doubled<T>(a) * b) >> 8 * sizeof(T)); }
  template <class T> T operator()(T a, T b, T c) const { return T(Bits<T>((*this)(a, b)) + Bits<T>(c)); }
};
struct SaturatedAdd {
  int32_t operator()(int32_t a, int32_t b) const { return clamp(int64_t(a) + b); }
  static int32_t clamp(int64_t x) { return int32_t(std::max<int64_t>(INT32_MIN, std::min<int64_t>(INT32_MAX, x))); }
};
struct SaturatedSubtract {
  int32_t operator()(int32_t a, int32_t b) const { return SaturatedAdd::clamp(int64_t(a) - b); }
};
template <class F>
struct Rectify {  // negative results become 0
  template <class T> T operator()(T a, T b) const { return std::max(F()(a, b), T(0)); }
};
template <class F>
struct Each {  // both halves
  template <class T> Two<T> operator()(Two<T> a, Two<T> b) const { return {F()(a.low, b.low), F()(a.high, b.high)}; }
};

template <class T>
Handler halvesForm(const std::string& op) {
  if (op == "add") return binary<Two<T>, Each<Add>>;
  if (op == "min") return binary<Two<T>, Each<Minimum>>;
  return op == "max" ? &binary<Two<T>, Each<Maximum>> : nullptr;
}

template <class T>
Outcome multiplyWide(Warp& warp, const Instruction& in, Mask active) {
  const uint64_t *a = warp.lanes(in.slots[1]), *b = warp.lanes(in.slots[2]);
  eachLane(active, [&](unsigned lane) {
    put(warp, in.slots[0], lane, Doubled<T>(fromBits<T>(a[lane])) * Doubled<T>(fromBits<T>(b[lane])));
  });
  return Outcome::Next;
}

template <class T>
Outcome multiplyWideAndAdd(Warp& warp, const Instruction& in, Mask active) {
  using D = Doubled<T>;
  const uint64_t *a = warp.lanes(in.slots[1]), *b = warp.lanes(in.slots[2]), *c = warp.lanes(in.slots[3]);
  eachLane(active, [&](unsigned lane) {
    D product = D(fromBits<T>(a[lane])) * D(fromBits<T>(b[lane]));
    put(warp, in.slots[0], lane, D(uint64_t(product) + uint64_t(fromBits<D>(c[lane]))));
  });
  return Outcome::Next;
}

template <class T>
constexpr bool isWord = sizeof(T) == 2 || sizeof(T) == 4;

}  // namespace

Handler integerBinary(Decoder& d, Type type) {
  const std::string& op = d.statement.opcode;
  if (d.take("sat"))
    return type == Type::S32 && op == "add"   ? &binary<int32_t, SaturatedAdd>
           : type == Type::S32 && op == "sub" ? &binary<int32_t, SaturatedSubtract>
                                              : nullptr;
  if (d.take("relu"))
    return type == Type::S32 && op == "min"   ? &binary<int32_t, Rectify<Minimum>>
           : type == Type::S32 && op == "max" ? &binary<int32_t, Rectify<Maximum>>
                                              : nullptr;
  if (type == Type::S16x2) return halvesForm<int16_t>(op);
  if (type == Type::U16x2) return halvesForm<uint16_t>(op);
  return withInteger(type, [&]<class T>() -> Handler {
    if (op == "add") return binary<T, Add>;
    if (op == "sub") return binary<T, Subtract>;
    if (op == "min") return binary<T, Minimum>;
    if (op == "max") return binary<T, Maximum>;
    if (op == "div") return binary<T, Divide>;
    return op == "rem" ? &binary<T, Remainder> : nullptr;
  });
}

Handler integerUnary(Decoder& d, Type type) {
  return withInteger(type, [&]<class T>() -> Handler {
    return d.statement.opcode == "neg" ? &unary<T, Negate> : &unary<T, Absolute>;
  });
}

Handler integerProduct(Decoder& d, Type type) {
  bool isSum = d.statement.opcode == "mad";
  if (d.take("wide"))
    return withInteger(type, [&]<class T>() -> Handler {
      if constexpr (isWord<T>) return isSum ? &multiplyWideAndAdd<T> : &multiplyWide<T>;
      return nullptr;
    });
  bool isHigh = d.take("hi");
  if (!isHigh && !d.take("lo")) return nullptr;
  return withInteger(type, [&]<class T>() -> Handler {
    if constexpr (sizeof(T) > 1) {
      if (isHigh) return isSum ? &ternary<T, High> : &binary<T, High>;
      return isSum ? &ternary<T, Low> : &binary<T, Low>;
    }
    return nullptr;
  });
}

}  // namespace tandem::emulator
