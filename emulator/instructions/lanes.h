// Loops over lanes for operations of one result, and PTX's floating-point types as C++ ones.
#pragma once
#include "emulator/decoder.h"
#include "emulator/formats.h"
#include "emulator/warp.h"
#include <type_traits>

namespace tandem::emulator {

// The bits of an f16 or bf16; arithmetic is a float's or double's.
struct Half {
  uint16_t bits;
  static Half of(float value) { return {toF16(value)}; }
  static Half of(double value) { return {uint16_t(toFormat(value, kF16, Rounding::Nearest, false))}; }
  operator float() const { return fromF16(bits); }
};
struct Brain {
  uint16_t bits;
  static Brain of(float value) { return {toBF16(value)}; }
  static Brain of(double value) { return {uint16_t(toFormat(value, kBF16, Rounding::Nearest, false))}; }
  operator float() const { return fromBF16(bits); }
};
template <class T>
struct Two {
  T low, high;
};

template <class T> constexpr bool isNarrow = std::is_same_v<T, Half> || std::is_same_v<T, Brain>;
template <class T> constexpr bool isTwo = false;
template <class T> constexpr bool isTwo<Two<T>> = true;

template <class T>
inline T flushed(T value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(T(0), value) : value;
}

// PTX's NaN has all bits of its mantissa set.
inline float withOneNan(float value) { return std::isnan(value) ? std::bit_cast<float>(0x7fffffffu) : value; }
inline double withOneNan(double value) { return value; }

// Integers are stored extended to 64 bits by their sign, as a wider register has them.
template <class T>
inline void put(Warp& warp, Slot slot, unsigned lane, T value) {
  if constexpr (std::is_integral_v<T>)
    warp.lanes(slot)[lane] = uint64_t(int64_t(value));
  else if constexpr (std::is_floating_point_v<T>)
    warp.set(slot, lane, withOneNan(value));
  else
    warp.set(slot, lane, value);
}

struct And {
  template <class T> T operator()(T a, T b) const { return a & b; }
};
struct Or {
  template <class T> T operator()(T a, T b) const { return a | b; }
};
struct Xor {
  template <class T> T operator()(T a, T b) const { return a ^ b; }
};

template <class T, class F>
Outcome unary(Warp& warp, const Instruction& in, Mask active) {
  const uint64_t* a = warp.lanes(in.slots[1]);
  eachLane(active, [&](unsigned lane) { put(warp, in.slots[0], lane, F()(fromBits<T>(a[lane]))); });
  return Outcome::Next;
}

template <class T, class F>
Outcome binary(Warp& warp, const Instruction& in, Mask active) {
  const uint64_t *a = warp.lanes(in.slots[1]), *b = warp.lanes(in.slots[2]);
  eachLane(active,
           [&](unsigned lane) { put(warp, in.slots[0], lane, F()(fromBits<T>(a[lane]), fromBits<T>(b[lane]))); });
  return Outcome::Next;
}

template <class T, class F>
Outcome ternary(Warp& warp, const Instruction& in, Mask active) {
  const uint64_t *a = warp.lanes(in.slots[1]), *b = warp.lanes(in.slots[2]), *c = warp.lanes(in.slots[3]);
  eachLane(active, [&](unsigned lane) {
    put(warp, in.slots[0], lane, F()(fromBits<T>(a[lane]), fromBits<T>(b[lane]), fromBits<T>(c[lane])));
  });
  return Outcome::Next;
}

inline void readOperands(Decoder& d, Type type) {
  for (size_t i = 1; i < d.count(); ++i) d.out.slots[i] = d.read(i, type);
  d.out.slots[0] = d.write(0);
}

}  // namespace tandem::emulator
