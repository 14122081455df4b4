// setp, selp and slct.
#include "emulator/instructions/families.h"
#include "emulator/instructions/integers.h"
#include "emulator/instructions/lanes.h"
#include <array>

namespace tandem::emulator {
namespace {

// An order as bits: which of "less", "equal", "greater", "unordered" make the comparison true.
enum : uint16_t { kLess = 1, kEqual = 2, kGreater = 4, kUnordered = 8 };
struct Comparison {
  std::string_view name;
  uint16_t holds;
};
constexpr Comparison kComparisons[] = {
    {"eq", kEqual},
    {"ne", kLess | kGreater},
    {"lt", kLess},
    {"le", kLess | kEqual},
    {"gt", kGreater},
    {"ge", kGreater | kEqual},
    {"lo", kLess},
    {"ls", kLess | kEqual},
    {"hi", kGreater},
    {"hs", kGreater | kEqual},
    {"equ", kEqual | kUnordered},
    {"neu", kLess | kGreater | kUnordered},
    {"ltu", kLess | kUnordered},
    {"leu", kLess | kEqual | kUnordered},
    {"gtu", kGreater | kUnordered},
    {"geu", kGreater | kEqual | kUnordered},
    {"num", kLess | kEqual | kGreater},
    {"nan", kUnordered},
};
enum : uint8_t { kAnd = 1, kOr = 2, kXor = 3 };  // Instruction::count: how the third operand joins in

template <class T>
uint16_t orderOf(T a, T b) {
  return a < b ? kLess : a == b ? kEqual : a > b ? kGreater : kUnordered;
}

template <class T, bool kFlush>
Mask compared(Warp& warp, const Instruction& in, Mask active, unsigned shift = 0) {
  Mask out = 0;
  const uint64_t *a = warp.lanes(in.slots[2]), *b = warp.lanes(in.slots[3]);
  eachLane(active, [&](unsigned lane) {
    uint16_t order;
    if constexpr (isNarrow<T>)
      order = orderOf<float>(fromBits<T>(a[lane] >> shift), fromBits<T>(b[lane] >> shift));
    else if constexpr (kFlush)
      order = orderOf(flushed(fromBits<T>(a[lane])), flushed(fromBits<T>(b[lane])));
    else
      order = orderOf(fromBits<T>(a[lane]), fromBits<T>(b[lane]));
    out |= Mask((order & in.form) != 0) << lane;
  });
  return out;
}

Mask combined(const Instruction& in, Mask value, Mask with) {
  return in.count == kAnd ? value & with : in.count == kOr ? value | with : in.count == kXor ? value ^ with : value;
}

template <class T, bool kFlush>
Outcome compare(Warp& warp, const Instruction& in, Mask active) {
  Mask found = compared<T, kFlush>(warp, in, active), with = warp.predicate(in.slots[4]);
  warp.setPredicate(in.slots[0], active, combined(in, found, with));
  warp.setPredicate(in.slots[1], active, combined(in, ~found, with));
  return Outcome::Next;
}

template <class T>
Outcome compareTwo(Warp& warp, const Instruction& in, Mask active) {
  Mask low = compared<T, false>(warp, in, active), high = compared<T, false>(warp, in, active, 16);
  Mask with = warp.predicate(in.slots[4]);
  warp.setPredicate(in.slots[0], active, combined(in, low, with));
  warp.setPredicate(in.slots[1], active, combined(in, high, with));
  return Outcome::Next;
}

Handler handlerOf(Type type, bool isFlushed) {
  switch (type) {
    case Type::F32: return isFlushed ? &compare<float, true> : &compare<float, false>;
    case Type::F64: return compare<double, false>;
    case Type::F16: return compare<Half, false>;
    case Type::BF16: return compare<Brain, false>;
    case Type::F16x2: return compareTwo<Half>;
    case Type::BF16x2: return compareTwo<Brain>;
    default: return withInteger(type, []<class T>() -> Handler { return compare<T, false>; });
  }
}

// setp.cmp[.and|.or|.xor] p[|q], a, b[, c]
void compareForm(Decoder& d) {
  for (const Comparison& comparison : kComparisons)
    if (d.take(comparison.name)) d.out.form = comparison.holds;
  d.out.count = d.take("and") ? kAnd : d.take("or") ? kOr : d.take("xor") ? kXor : 0;
  bool isFlushed = d.take("ftz");
  Type type = d.takeType();
  d.out.handler = d.out.form ? handlerOf(type, isFlushed) : nullptr;
  const Operand& results = d.operand(0);
  Operand nothing;
  nothing.kind = Operand::Kind::Sink;
  bool isPair = results.kind == Operand::Kind::Pair;
  d.out.slots[0] = d.writePredicate(isPair ? results.parts[0] : results);
  d.out.slots[1] = d.writePredicate(isPair ? results.parts[1] : nothing);
  d.out.slots[2] = d.read(1, type);
  d.out.slots[3] = d.read(2, type);
  d.out.slots[4] = d.out.count ? d.readPredicate(d.operand(3)) : Instruction::kAlways;
}

Outcome select(Warp& warp, const Instruction& in, Mask active) {
  Mask chosen = warp.predicate(in.slots[3]);
  const uint64_t *a = warp.lanes(in.slots[1]), *b = warp.lanes(in.slots[2]);
  uint64_t* to = warp.lanes(in.slots[0]);
  eachLane(active, [&](unsigned lane) { to[lane] = chosen >> lane & 1 ? a[lane] : b[lane]; });
  return Outcome::Next;
}

template <class T>
Outcome selectBySign(Warp& warp, const Instruction& in, Mask active) {  // slct: a where c >= 0, else b
  const uint64_t *a = warp.lanes(in.slots[1]), *b = warp.lanes(in.slots[2]);
  uint64_t* to = warp.lanes(in.slots[0]);
  eachLane(active, [&](unsigned lane) { to[lane] = warp.get<T>(in.slots[3], lane) >= 0 ? a[lane] : b[lane]; });
  return Outcome::Next;
}

}  // namespace

std::span<const Family> compareFamilies() {
  static constexpr Family kFamilies[] = {
      {"setp", compareForm},
      {"selp",
       [](Decoder& d) {
         Type type = d.takeType();
         d.out.handler = select;
         d.out.slots[0] = d.write(0);
         for (size_t i : {1u, 2u}) d.out.slots[i] = d.read(i, type);
         d.out.slots[3] = d.readPredicate(d.operand(3));
       }},
      {"slct",
       [](Decoder& d) {
         d.take("ftz");
         Type type = d.takeType(), sign = d.takeType();
         d.out.handler = sign == Type::F32 ? &selectBySign<float> : &selectBySign<int32_t>;
         d.out.slots[0] = d.write(0);
         for (size_t i : {1u, 2u}) d.out.slots[i] = d.read(i, type);
         d.out.slots[3] = d.read(3, sign);
       }},
  };
  return kFamilies;
}

}  // namespace tandem::emulator
