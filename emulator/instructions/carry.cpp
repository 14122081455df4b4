// Sums, differences and products of integers longer than a register: each instruction leaves a carry for the next.
#include "emulator/instructions/families.h"
#include "emulator/instructions/integers.h"
#include "emulator/instructions/lanes.h"

namespace tandem::emulator {
namespace {

enum : uint16_t { kReads = 1, kWrites = 2, kHigh = 4 };  // Instruction::form; slots[4] is the carry's predicate

Mask carryIn(Warp& warp, const Instruction& in) { return in.form & kReads ? warp.predicate(in.slots[4]) : 0; }

void carryOut(Warp& warp, const Instruction& in, Mask active, Mask carries) {
  if (in.form & kWrites) warp.setPredicate(in.slots[4], active, carries);
}

template <class T>
T add(unsigned lane, T a, T b, Mask before, Mask& carries) {
  T sum;
  bool isFirst = __builtin_add_overflow(a, b, &sum),
       isSecond = __builtin_add_overflow(sum, T(before >> lane & 1), &sum);
  carries |= Mask(isFirst || isSecond) << lane;
  return sum;
}

template <class T>
Outcome addCarrying(Warp& warp, const Instruction& in, Mask active) {
  Mask before = carryIn(warp, in), carries = 0;
  eachLane(active, [&](unsigned lane) {
    T sum = add(lane, warp.get<T>(in.slots[1], lane), warp.get<T>(in.slots[2], lane), before, carries);
    warp.set(in.slots[0], lane, sum);
  });
  carryOut(warp, in, active, carries);
  return Outcome::Next;
}

// The carry is a borrow.
template <class T>
Outcome subtractBorrowing(Warp& warp, const Instruction& in, Mask active) {
  Mask before = carryIn(warp, in), borrows = 0;
  eachLane(active, [&](unsigned lane) {
    T difference;
    bool isFirst = __builtin_sub_overflow(warp.get<T>(in.slots[1], lane), warp.get<T>(in.slots[2], lane), &difference);
    bool isSecond = __builtin_sub_overflow(difference, T(before >> lane & 1), &difference);
    borrows |= Mask(isFirst || isSecond) << lane;
    warp.set(in.slots[0], lane, difference);
  });
  carryOut(warp, in, active, borrows);
  return Outcome::Next;
}

template <class T>
Outcome multiplyCarrying(Warp& warp, const Instruction& in, Mask active) {
  using Wide = std::conditional_t<sizeof(T) == 8, unsigned __int128, uint64_t>;
  Mask before = carryIn(warp, in), carries = 0;
  eachLane(active, [&](unsigned lane) {
    Wide product = Wide(warp.get<T>(in.slots[1], lane)) * warp.get<T>(in.slots[2], lane);
    T part = T(in.form & kHigh ? product >> 8 * sizeof(T) : product);
    warp.set(in.slots[0], lane, add(lane, part, warp.get<T>(in.slots[3], lane), before, carries));
  });
  carryOut(warp, in, active, carries);
  return Outcome::Next;
}

}  // namespace

void decodeCarrying(Decoder& d) {
  const std::string& op = d.statement.opcode;
  if (op.ends_with('c')) d.out.form |= kReads;
  if (d.take("cc")) d.out.form |= kWrites;
  if (d.take("hi")) d.out.form |= kHigh;
  d.take("lo");
  Type type = d.takeType();
  if (isSigned(type) && (d.out.form & kHigh)) return;  // the only form that knows of signs, which no compiler needs
  bool isWide = bitsOf(type) == 64;
  if (op.starts_with("add"))
    d.out.handler = isWide ? &addCarrying<uint64_t> : &addCarrying<uint32_t>;
  else if (op.starts_with("sub"))
    d.out.handler = isWide ? &subtractBorrowing<uint64_t> : &subtractBorrowing<uint32_t>;
  else
    d.out.handler = isWide ? &multiplyCarrying<uint64_t> : &multiplyCarrying<uint32_t>;
  readOperands(d, type);
  d.out.slots[4] = d.carry();
}

std::span<const Family> carryFamilies() {
  static constexpr Family kFamilies[] = {{"addc", decodeCarrying}, {"subc", decodeCarrying}, {"madc", decodeCarrying}};
  return kFamilies;
}

}  // namespace tandem::emulator
