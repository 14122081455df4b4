// Instructions that lanes of a warp carry out together: shuffles, votes, matches, reductions.
#include "emulator/instructions/families.h"
#include "emulator/instructions/lanes.h"
#include <algorithm>
#include <map>

namespace tandem::emulator {
namespace {

// Lanes that come alone wait for the others that their instruction names. Throws Fault if a lane is not among them itself.
bool haveCome(Warp& warp, Slot members, Mask active) {
  Mask wanted = warp.get<uint32_t>(members, unsigned(std::countr_zero(active)));
  if (active & ~wanted)
    throw Fault(Fault::IllegalInstruction, "the lane is not among the instruction's members, " + hex(wanted),
                std::countr_zero(active & ~wanted));
  return warp.isJoined(active, wanted);
}

enum : uint16_t { kUp, kDown, kButterfly, kIndex };
constexpr uint32_t kUndefined = 0xA5A5A5A5;  // from a lane that does not take part

Outcome shuffle(Warp& warp, const Instruction& in, Mask active) {
  if (!haveCome(warp, in.slots[5], active)) return Outcome::Wait;
  uint32_t values[kLanes], found[kLanes];
  for (unsigned lane = 0; lane < kLanes; ++lane)
    values[lane] = active >> lane & 1 ? warp.get<uint32_t>(in.slots[2], lane) : kUndefined;
  Mask inRange = 0;
  eachLane(active, [&](unsigned lane) {
    int b = int(warp.get<uint32_t>(in.slots[3], lane) & 31), own = int(lane);
    uint32_t c = warp.get<uint32_t>(in.slots[4], lane);
    int segment = int(c >> 8 & 31), first = own & segment, last = first | (int(c & 31) & ~segment);
    int from = in.form == kUp          ? own - b
               : in.form == kDown      ? own + b
               : in.form == kButterfly ? own ^ b
                                       : (b & ~segment) | first;
    bool isIn = in.form == kUp ? from >= last : from <= last;
    inRange |= Mask(isIn) << lane;
    found[lane] = values[isIn ? from : own];
  });
  eachLane(active, [&](unsigned lane) { warp.set(in.slots[0], lane, found[lane]); });
  warp.setPredicate(in.slots[1], active, inRange);
  return Outcome::Next;
}

Operand sink() {
  Operand nothing;
  nothing.kind = Operand::Kind::Sink;
  return nothing;
}

void writePair(Decoder& d) {  // d|p
  const Operand& results = d.operand(0);
  bool isPair = results.kind == Operand::Kind::Pair;
  d.out.slots[0] = d.write(isPair ? results.parts[0] : results);
  d.out.slots[1] = d.writePredicate(isPair ? results.parts[1] : sink());
}

void shuffleForm(Decoder& d) {
  d.take("sync");
  d.out.form = d.take("up") ? kUp : d.take("down") ? kDown : d.take("bfly") ? kButterfly : kIndex;
  d.take("idx");
  Type type = d.takeType();
  writePair(d);
  for (size_t i = 1; i < 5; ++i) d.out.slots[i + 1] = d.read(i, type);
  d.out.handler = shuffle;
}

Outcome ballot(Warp& warp, const Instruction& in, Mask active) {
  if (!haveCome(warp, in.slots[2], active)) return Outcome::Wait;
  uint32_t value = warp.predicate(in.slots[1]) & active;
  eachLane(active, [&](unsigned lane) { warp.set(in.slots[0], lane, value); });
  return Outcome::Next;
}

enum : uint16_t { kAll, kAny, kUniform };

Outcome vote(Warp& warp, const Instruction& in, Mask active) {
  if (!haveCome(warp, in.slots[2], active)) return Outcome::Wait;
  Mask value = warp.predicate(in.slots[1]) & active;
  bool found = in.form == kAny ? value != 0 : value == active || (in.form == kUniform && !value);
  warp.setPredicate(in.slots[0], active, found ? kAllLanes : 0);
  return Outcome::Next;
}

void voteForm(Decoder& d) {
  d.take("sync");
  bool isBallot = d.take("ballot");
  d.out.form = d.take("all") ? kAll : d.take("any") ? kAny : kUniform;
  d.take("uni");
  d.takeType();
  d.out.handler = isBallot ? ballot : vote;
  d.out.slots[0] = isBallot ? d.write(0) : d.writePredicate(d.operand(0));
  d.out.slots[1] = d.readPredicate(d.operand(1));
  d.out.slots[2] = d.read(2, Type::B32);
}

template <class T, bool kAllEqual>
Outcome match(Warp& warp, const Instruction& in, Mask active) {
  if (!haveCome(warp, in.slots[3], active)) return Outcome::Wait;
  std::map<T, Mask> byValue;
  eachLane(active, [&](unsigned lane) { byValue[warp.get<T>(in.slots[2], lane)] |= Mask(1) << lane; });
  bool isOne = byValue.size() == 1;
  eachLane(active, [&](unsigned lane) {
    Mask same = byValue[warp.get<T>(in.slots[2], lane)];
    warp.set(in.slots[0], lane, kAllEqual ? isOne ? active : 0 : same);
  });
  warp.setPredicate(in.slots[1], active, isOne ? kAllLanes : 0);
  return Outcome::Next;
}

void matchForm(Decoder& d) {
  d.ignore({"sync", "any"});
  bool isAll = d.take("all");
  Type type = d.takeType();
  bool isWide = bitsOf(type) == 64;
  d.out.handler = isAll ? (isWide ? &match<uint64_t, true> : &match<uint32_t, true>)
                        : (isWide ? &match<uint64_t, false> : &match<uint32_t, false>);
  writePair(d);
  d.out.slots[2] = d.read(1, type);
  d.out.slots[3] = d.read(2, Type::B32);
}

template <class T, class F>
Outcome reduce(Warp& warp, const Instruction& in, Mask active) {
  if (!haveCome(warp, in.slots[2], active)) return Outcome::Wait;
  T value = warp.get<T>(in.slots[1], unsigned(std::countr_zero(active)));
  eachLane(active & (active - 1), [&](unsigned lane) { value = F()(value, warp.get<T>(in.slots[1], lane)); });
  eachLane(active, [&](unsigned lane) { put(warp, in.slots[0], lane, value); });
  return Outcome::Next;
}

struct Sum {
  template <class T> T operator()(T a, T b) const { return T(uint32_t(a) + uint32_t(b)); }
};
struct Least {
  template <class T> T operator()(T a, T b) const { return std::min(a, b); }
};
struct Greatest {
  template <class T> T operator()(T a, T b) const { return std::max(a, b); }
};

void reduceForm(Decoder& d) {
  d.take("sync");
  bool isLeast = d.take("min"), isGreatest = d.take("max");
  bool isAnd = d.take("and"), isOr = d.take("or"), isXor = d.take("xor");
  d.take("add");
  Type type = d.takeType();
  auto of = [&]<class T>() -> Handler {
    return isLeast      ? &reduce<T, Least>
           : isGreatest ? &reduce<T, Greatest>
           : isAnd      ? &reduce<T, And>
           : isOr       ? &reduce<T, Or>
           : isXor      ? &reduce<T, Xor>
                        : &reduce<T, Sum>;
  };
  if (bitsOf(type) != 32 || isFloating(type)) return;
  d.out.handler = isSigned(type) ? of.template operator()<int32_t>() : of.template operator()<uint32_t>();
  d.out.slots[0] = d.write(0);
  d.out.slots[1] = d.read(1, type);
  d.out.slots[2] = d.read(2, Type::B32);
}

Outcome elect(Warp& warp, const Instruction& in, Mask active) {
  if (!haveCome(warp, in.slots[2], active)) return Outcome::Wait;
  uint32_t leader = uint32_t(std::countr_zero(active));
  eachLane(active, [&](unsigned lane) { warp.set(in.slots[0], lane, leader); });
  warp.setPredicate(in.slots[1], active, Mask(1) << leader);
  return Outcome::Next;
}

Outcome readActive(Warp& warp, const Instruction& in, Mask active) {
  eachLane(active, [&](unsigned lane) { warp.set(in.slots[0], lane, uint32_t(active)); });
  return Outcome::Next;
}

}  // namespace

std::span<const Family> warpFamilies() {
  static constexpr Family kFamilies[] = {
      {"shfl", shuffleForm},
      {"vote", voteForm},
      {"match", matchForm},
      {"redux", reduceForm},
      {"elect",
       [](Decoder& d) {
         d.take("sync");
         writePair(d);
         d.out.slots[2] = d.read(1, Type::B32);
         d.out.handler = elect;
       }},
      {"activemask",
       [](Decoder& d) {
         d.takeType();
         d.out.slots[0] = d.write(0);
         d.out.handler = readActive;
       }},
  };
  return kFamilies;
}

}  // namespace tandem::emulator
