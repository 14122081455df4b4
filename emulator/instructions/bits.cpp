// Logic, shifts and bit fields: an example of a family. A decoder takes the modifiers and gives slots; a handler loops
// over the lanes.
#include "emulator/instructions/families.h"
#include "emulator/instructions/integers.h"
#include "emulator/instructions/lanes.h"

namespace tandem::emulator {
namespace {

struct Not {
  template <class T> T operator()(T a) const { return T(~a); }
};
struct LogicalNot {
  template <class T> T operator()(T a) const { return a == 0; }
};
struct Count {
  template <class T> uint32_t operator()(T a) const { return uint32_t(std::popcount(a)); }
};
struct LeadingZeros {
  template <class T> uint32_t operator()(T a) const { return uint32_t(std::countl_zero(a)); }
};
struct Reverse {
  template <class T> T operator()(T a) const {
    T out = 0;
    for (unsigned i = 0; i < 8 * sizeof(T); ++i) out = T(out << 1 | (a >> i & 1));
    return out;
  }
};

// The place of the highest bit that is set, of negative numbers that is not; kShift: the shift that brings it to the top.
template <class T, bool kShift>
Outcome findBit(Warp& warp, const Instruction& in, Mask active) {
  eachLane(active, [&](unsigned lane) {
    T value = warp.get<T>(in.slots[1], lane);
    auto bits = std::make_unsigned_t<T>(value < 0 ? ~value : value);
    uint32_t zeros = uint32_t(std::countl_zero(bits));
    warp.set(in.slots[0], lane, bits == 0 ? ~0u : kShift ? zeros : uint32_t(8 * sizeof(T) - 1 - zeros));
  });
  return Outcome::Next;
}

// Shifts by the width or more give 0, or the sign.
template <class T, bool kLeft>
Outcome shift(Warp& warp, const Instruction& in, Mask active) {
  constexpr unsigned kWidth = 8 * sizeof(T);
  eachLane(active, [&](unsigned lane) {
    T value = warp.get<T>(in.slots[1], lane);
    uint32_t by = warp.get<uint32_t>(in.slots[2], lane);
    if (by >= kWidth)
      value = kLeft || value >= 0 ? T(0) : T(-1);
    else
      value = kLeft ? T(std::make_unsigned_t<T>(value) << by) : T(value >> by);
    put(warp, in.slots[0], lane, value);
  });
  return Outcome::Next;
}

// shf: a window of 32 bits of the pair (b, a). `form`: bit 0 to the left, bit 1 the amount wraps.
Outcome funnelShift(Warp& warp, const Instruction& in, Mask active) {
  eachLane(active, [&](unsigned lane) {
    uint64_t pair = uint64_t(warp.get<uint32_t>(in.slots[2], lane)) << 32 | warp.get<uint32_t>(in.slots[1], lane);
    uint32_t by = warp.get<uint32_t>(in.slots[3], lane);
    by = in.form & 2 ? by & 31 : std::min(by, 32u);
    warp.set(in.slots[0], lane, uint32_t(in.form & 1 ? pair << by >> 32 : pair >> by));
  });
  return Outcome::Next;
}

Outcome lookUp(Warp& warp, const Instruction& in, Mask active) {  // lop3
  eachLane(active, [&](unsigned lane) {
    uint32_t a = warp.get<uint32_t>(in.slots[1], lane), b = warp.get<uint32_t>(in.slots[2], lane),
             c = warp.get<uint32_t>(in.slots[3], lane), out = 0;
    for (unsigned row = 0; row < 8; ++row)
      if (in.immediate >> row & 1) out |= (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
    warp.set(in.slots[0], lane, out);
  });
  return Outcome::Next;
}

template <class T>
Outcome extractField(Warp& warp, const Instruction& in, Mask active) {
  using U = std::make_unsigned_t<T>;
  constexpr unsigned kWidth = 8 * sizeof(T);
  eachLane(active, [&](unsigned lane) {
    T value = warp.get<T>(in.slots[1], lane);
    unsigned at = warp.get<uint8_t>(in.slots[2], lane), length = warp.get<uint8_t>(in.slots[3], lane);
    U mask = length >= kWidth ? U(~U(0)) : U((U(1) << length) - 1);
    U field = at < kWidth ? U(U(value) >> at) & mask : U(0);
    if (std::is_signed_v<T> && length) {
      unsigned top = std::min(at + length - 1, kWidth - 1);
      if (value >> top & 1) {
        unsigned held = at < kWidth ? top - at + 1 : 0;  // bits of the value that are in the field
        if (held < kWidth) field |= U(~U(0)) << held;
      }
    }
    put(warp, in.slots[0], lane, T(field));
  });
  return Outcome::Next;
}

template <class T>
Outcome insertField(Warp& warp, const Instruction& in, Mask active) {
  constexpr unsigned kWidth = 8 * sizeof(T);
  eachLane(active, [&](unsigned lane) {
    T field = warp.get<T>(in.slots[1], lane), into = warp.get<T>(in.slots[2], lane);
    unsigned at = warp.get<uint8_t>(in.slots[3], lane), length = warp.get<uint8_t>(in.slots[4], lane);
    T mask = at >= kWidth ? T(0) : T((length >= kWidth ? T(~T(0)) : T((T(1) << length) - 1)) << at);
    put(warp, in.slots[0], lane, T((into & ~mask) | (at < kWidth ? T(field << at) & mask : T(0))));
  });
  return Outcome::Next;
}

// prmt: each byte of the result is one of the eight of (b, a), or the sign of one.
Outcome permuteBytes(Warp& warp, const Instruction& in, Mask active) {
  eachLane(active, [&](unsigned lane) {
    uint64_t bytes = uint64_t(warp.get<uint32_t>(in.slots[2], lane)) << 32 | warp.get<uint32_t>(in.slots[1], lane);
    uint32_t selector = warp.get<uint32_t>(in.slots[3], lane), out = 0;
    for (unsigned i = 0; i < 4; ++i) {
      uint32_t choice = selector >> 4 * i & 15, byte = uint32_t(bytes >> 8 * (choice & 7)) & 0xff;
      if (choice & 8) byte = byte & 0x80 ? 0xff : 0;
      out |= byte << 8 * i;
    }
    warp.set(in.slots[0], lane, out);
  });
  return Outcome::Next;
}

template <class F>
Outcome onPredicates(Warp& warp, const Instruction& in, Mask active) {
  warp.setPredicate(in.slots[0], active, F()(warp.predicate(in.slots[1]), warp.predicate(in.slots[2])));
  return Outcome::Next;
}

Outcome notPredicate(Warp& warp, const Instruction& in, Mask active) {
  warp.setPredicate(in.slots[0], active, ~warp.predicate(in.slots[1]));
  return Outcome::Next;
}

template <class F>
void logic(Decoder& d) {
  Type type = d.takeType();
  if (type == Type::Pred) {
    d.out.handler = onPredicates<F>;
    d.out.slots[0] = d.writePredicate(d.operand(0));
    for (size_t i : {1u, 2u}) d.out.slots[i] = d.readPredicate(d.operand(i));
    return;
  }
  d.out.handler = withInteger(type, []<class T>() -> Handler { return binary<T, F>; });
  readOperands(d, type);
}

template <class F>
void ofOne(Decoder& d) {
  Type type = d.takeType();
  if (type == Type::Pred) {
    d.out.handler = notPredicate;
    d.out.slots[0] = d.writePredicate(d.operand(0));
    d.out.slots[1] = d.readPredicate(d.operand(1));
    return;
  }
  d.out.handler = withInteger(type, []<class T>() -> Handler {
    if constexpr (std::is_unsigned_v<T>) return unary<T, F>;
    return nullptr;
  });
  readOperands(d, type);
}

template <bool kLeft>
void shiftForm(Decoder& d) {
  Type type = d.takeType();
  d.out.handler = withInteger(type, []<class T>() -> Handler { return shift<T, kLeft>; });
  d.out.slots[0] = d.write(0);
  d.out.slots[1] = d.read(1, type);
  d.out.slots[2] = d.read(2, Type::U32);
}

void fieldForm(Decoder& d) {
  Type type = d.takeType();
  bool isInsert = d.statement.opcode == "bfi";
  d.out.handler = withInteger(type, [&]<class T>() -> Handler {
    if constexpr (std::is_unsigned_v<T>)
      if (isInsert) return insertField<T>;
    return isInsert ? nullptr : &extractField<T>;
  });
  readOperands(d, type);
}

void findForm(Decoder& d) {
  bool isShift = d.take("shiftamt");
  Type type = d.takeType();
  d.out.handler =
      withInteger(type, [&]<class T>() -> Handler { return isShift ? &findBit<T, true> : &findBit<T, false>; });
  readOperands(d, type);
}

void permuteForm(Decoder& d) {
  readOperands(d, d.takeType());
  d.out.handler = permuteBytes;
}

void lookUpForm(Decoder& d) {
  d.out.handler = lookUp;
  Type type = d.takeType();
  d.out.slots[0] = d.write(0);
  for (size_t i : {1u, 2u, 3u}) d.out.slots[i] = d.read(i, type);
  d.out.immediate = int64_t(d.operand(4).bits);
}

void funnelForm(Decoder& d) {
  d.out.form = uint16_t(d.take("l") ? 1 : 0);
  d.take("r");
  if (d.take("wrap")) d.out.form |= 2;
  d.take("clamp");
  d.out.handler = funnelShift;
  readOperands(d, d.takeType());
}

}  // namespace

std::span<const Family> bitFamilies() {
  static constexpr Family kFamilies[] = {
      {"and", logic<And>},         {"or", logic<Or>},        {"xor", logic<Xor>},          {"not", ofOne<Not>},
      {"cnot", ofOne<LogicalNot>}, {"popc", ofOne<Count>},   {"clz", ofOne<LeadingZeros>}, {"brev", ofOne<Reverse>},
      {"bfind", findForm},         {"shl", shiftForm<true>}, {"shr", shiftForm<false>},    {"shf", funnelForm},
      {"lop3", lookUpForm},        {"bfe", fieldForm},       {"bfi", fieldForm},           {"prmt", permuteForm},
  };
  return kFamilies;
}

}  // namespace tandem::emulator
