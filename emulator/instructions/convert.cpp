// cvt: between all types, with every rounding.
#include "emulator/instructions/families.h"
#include "emulator/instructions/integers.h"
#include "emulator/instructions/lanes.h"
#include <cfenv>
#include <limits>

namespace tandem::emulator {
namespace {

// Instruction::form
enum : uint16_t { kFlush = 1, kSaturate = 2, kRectify = 4, kFinite = 8, kToInteger = 16, kRoundingShift = 8 };

Rounding roundingOf(const Instruction& in) { return Rounding(in.form >> kRoundingShift); }

template <class From, class To>
Outcome integerToInteger(Warp& warp, const Instruction& in, Mask active) {
  const uint64_t* a = warp.lanes(in.slots[1]);
  eachLane(active, [&](unsigned lane) { put(warp, in.slots[0], lane, To(fromBits<From>(a[lane]))); });
  return Outcome::Next;
}

template <class From, class To>
Outcome integerClamped(Warp& warp, const Instruction& in, Mask active) {
  using Limits = std::numeric_limits<To>;
  eachLane(active, [&](unsigned lane) {
    __int128 value = warp.get<From>(in.slots[1], lane);
    value = value < Limits::min() ? Limits::min() : value > Limits::max() ? Limits::max() : value;
    put(warp, in.slots[0], lane, To(value));
  });
  return Outcome::Next;
}

int hostMode(Rounding rounding) {
  return rounding == Rounding::Zero   ? FE_TOWARDZERO
         : rounding == Rounding::Down ? FE_DOWNWARD
         : rounding == Rounding::Up   ? FE_UPWARD
                                      : FE_TONEAREST;
}

// A number of any type narrower than a double is a double; 64-bit integers are handled by themselves.
double readFloating(Warp& warp, const Instruction& in, Type type, unsigned lane) {
  uint64_t bits = warp.lanes(in.slots[1])[lane];
  switch (type) {
    case Type::F16: return fromF16(uint16_t(bits));
    case Type::BF16: return fromBF16(uint16_t(bits));
    case Type::E4M3: return fromFormat(uint8_t(bits), kE4M3);
    case Type::E5M2: return fromFormat(uint8_t(bits), kE5M2);
    case Type::F64: return std::bit_cast<double>(bits);
    default: {
      float value = std::bit_cast<float>(uint32_t(bits));
      return in.form & kFlush ? flushed(value) : value;
    }
  }
}

uint64_t toFloating(double value, Type type, uint16_t form, Rounding rounding) {
  if (form & kSaturate) value = value > 0 ? std::min(value, 1.0) : 0;
  if ((form & kRectify) && value < 0) value = 0;
  bool isFinite = form & kFinite;
  switch (type) {
    case Type::F16: return toFormat(value, kF16, rounding, isFinite);
    case Type::BF16: return toFormat(value, kBF16, rounding, isFinite);
    case Type::E4M3: return toFormat(value, kE4M3, rounding, isFinite);
    case Type::E5M2: return toFormat(value, kE5M2, rounding, isFinite);
    case Type::TF32: return uint64_t(toFormat(value, kTF32, rounding, isFinite)) << 13;
    case Type::F64: return std::bit_cast<uint64_t>(value);
    default: {
      uint32_t bits = toFormat(value, kF32, rounding, isFinite);
      return form & kFlush ? std::bit_cast<uint32_t>(flushed(std::bit_cast<float>(bits))) : bits;
    }
  }
}

double wholeOf(double value, Rounding rounding) {
  switch (rounding) {
    case Rounding::Zero: return std::trunc(value);
    case Rounding::Down: return std::floor(value);
    case Rounding::Up: return std::ceil(value);
    default: return std::nearbyint(value);
  }
}

struct Types {
  Type to, from;
};

Outcome floatingToFloating(Warp& warp, const Instruction& in, Mask active) {
  const Types& types = *static_cast<const Types*>(in.detail);
  eachLane(active, [&](unsigned lane) {
    double value = readFloating(warp, in, types.from, lane);
    if (in.form & kToInteger) value = wholeOf(value, roundingOf(in));
    warp.lanes(in.slots[0])[lane] = toFloating(value, types.to, in.form, roundingOf(in));
  });
  return Outcome::Next;
}

template <class From>
Outcome integerToFloating(Warp& warp, const Instruction& in, Mask active) {
  const Types& types = *static_cast<const Types*>(in.detail);
  std::fesetround(hostMode(roundingOf(in)));
  eachLane(active, [&](unsigned lane) {
    From value = warp.get<From>(in.slots[1], lane);
    uint64_t bits;
    if (types.to == Type::F64)
      bits = toBits(double(value));
    else if (types.to == Type::F32)
      bits = toBits(float(value));
    else
      bits = toFloating(sizeof(From) == 8 ? double(float(value)) : double(value), types.to, in.form, roundingOf(in));
    warp.lanes(in.slots[0])[lane] = bits;
  });
  std::fesetround(FE_TONEAREST);
  return Outcome::Next;
}

// What is too large becomes the limit, a NaN becomes 0, or the highest bit where 64 bits are on either side.
template <class To>
Outcome floatingToInteger(Warp& warp, const Instruction& in, Mask active) {
  using Limits = std::numeric_limits<To>;
  const Types& types = *static_cast<const Types*>(in.detail);
  constexpr double kEnd = 2.0 * double(uint64_t(1) << (Limits::digits - 1));
  eachLane(active, [&](unsigned lane) {
    double value = wholeOf(readFloating(warp, in, types.from, lane), roundingOf(in));
    To out;
    if (std::isnan(value))
      out = types.from == Type::F64 || sizeof(To) == 8 ? To(uint64_t(1) << (8 * sizeof(To) - 1)) : To(0);
    else if (value >= kEnd)
      out = Limits::max();
    else
      out = value < double(Limits::min()) ? Limits::min() : To(value);
    put(warp, in.slots[0], lane, out);
  });
  return Outcome::Next;
}

// Two numbers of 32 bits to one register of halves, the first to the upper; or two halves to two others.
Outcome toTwo(Warp& warp, const Instruction& in, Mask active) {
  const Types& types = *static_cast<const Types*>(in.detail);
  const unsigned width = bitsOf(types.to);
  eachLane(active, [&](unsigned lane) {
    double high, low;
    if (in.count == 2) {
      auto value = [&](Slot slot) {
        float number = warp.get<float>(slot, lane);
        return double(in.form & kFlush ? flushed(number) : number);
      };
      high = value(in.slots[1]);
      low = value(in.slots[2]);
    } else {
      uint64_t bits = warp.lanes(in.slots[1])[lane];
      unsigned from = bitsOf(types.from);
      auto value = [&](uint64_t part) -> double {
        switch (types.from) {
          case Type::F16: return fromF16(uint16_t(part));
          case Type::BF16: return fromBF16(uint16_t(part));
          default: return fromFormat(uint8_t(part), types.from == Type::E4M3 ? kE4M3 : kE5M2);
        }
      };
      low = value(bits & ((1u << from) - 1));
      high = value(bits >> from & ((1u << from) - 1));
    }
    warp.lanes(in.slots[0])[lane] = toFloating(high, types.to, in.form, roundingOf(in)) << width |
                                    toFloating(low, types.to, in.form, roundingOf(in));
  });
  return Outcome::Next;
}

// The usual conversions have loops of their own.
template <auto convert, class From>
Outcome quick(Warp& warp, const Instruction& in, Mask active) {
  const uint64_t* a = warp.lanes(in.slots[1]);
  eachLane(active, [&](unsigned lane) { put(warp, in.slots[0], lane, convert(fromBits<From>(a[lane]))); });
  return Outcome::Next;
}

template <auto convert>
Outcome quickTwo(Warp& warp, const Instruction& in, Mask active) {
  eachLane(active, [&](unsigned lane) {
    uint32_t high = convert(warp.get<float>(in.slots[1], lane)), low = convert(warp.get<float>(in.slots[2], lane));
    warp.set(in.slots[0], lane, high << 16 | low);
  });
  return Outcome::Next;
}

Handler quickForm(Type to, Type from, uint16_t form) {
  if (form) return nullptr;
  if (to == Type::F32 && from == Type::F16) return quick<fromF16, uint16_t>;
  if (to == Type::F32 && from == Type::BF16) return quick<fromBF16, uint16_t>;
  if (to == Type::F16 && from == Type::F32) return quick<toF16, float>;
  if (to == Type::BF16 && from == Type::F32) return quick<toBF16, float>;
  if (to == Type::F16x2 && from == Type::F32) return quickTwo<toF16>;
  if (to == Type::BF16x2 && from == Type::F32) return quickTwo<toBF16>;
  return nullptr;
}

Type halfOf(Type two) {
  switch (two) {
    case Type::F16x2: return Type::F16;
    case Type::BF16x2: return Type::BF16;
    case Type::E4M3x2: return Type::E4M3;
    case Type::E5M2x2: return Type::E5M2;
    default: return two;
  }
}

Rounding takeRounding(Decoder& d, bool& isWhole) {
  constexpr std::pair<std::string_view, Rounding> kNames[] = {{"rn", Rounding::Nearest},
                                                              {"rz", Rounding::Zero},
                                                              {"rm", Rounding::Down},
                                                              {"rp", Rounding::Up},
                                                              {"rna", Rounding::NearestAway}};
  for (auto [name, rounding] : kNames) {
    if (d.take(name)) return rounding;
    if (d.take(std::string(name) + "i")) return isWhole = true, rounding;
  }
  return Rounding::Nearest;
}

Handler handlerOf(Type to, Type from, bool isClamped) {
  if (isFloating(to) && isFloating(from)) return floatingToFloating;
  if (isFloating(to)) return withInteger(from, []<class From>() -> Handler { return integerToFloating<From>; });
  if (isFloating(from)) return withInteger(to, []<class To>() -> Handler { return floatingToInteger<To>; });
  return withInteger(to, [&]<class To>() -> Handler {
    return withInteger(from, [&]<class From>() -> Handler {
      return isClamped ? &integerClamped<From, To> : &integerToInteger<From, To>;
    });
  });
}

void convert(Decoder& d) {
  bool isWhole = false;
  Rounding rounding = takeRounding(d, isWhole);
  if (d.take("ftz")) d.out.form |= kFlush;
  if (d.take("sat")) d.out.form |= kSaturate;
  if (d.take("satfinite")) d.out.form |= kFinite;
  if (d.take("relu")) d.out.form |= kRectify;
  Type to = d.takeType(), from = d.takeType();
  if (isWhole && isFloating(to)) d.out.form |= kToInteger;
  d.out.form |= uint16_t(uint16_t(rounding) << kRoundingShift);
  Type half = halfOf(to);
  bool isTwo = half != to;
  d.out.slots[0] = d.write(0);
  d.out.slots[1] = d.read(1, from);
  d.out.count = uint8_t(d.count() - 1);
  if (d.out.count == 2) d.out.slots[2] = d.read(2, from);
  if (Handler handler = quickForm(to, from, d.out.form)) {
    d.out.handler = handler;
    return;
  }
  d.out.detail = d.keepDetail(Types{half, halfOf(from)});
  d.out.handler = isTwo ? toTwo : handlerOf(to, from, d.out.form & kSaturate);
}

}  // namespace

std::span<const Family> convertFamilies() {
  static constexpr Family kFamilies[] = {{"cvt", convert}};
  return kFamilies;
}

}  // namespace tandem::emulator
