// Bit instructions of one operand: an example of a family. A decoder takes the modifiers and gives slots; a handler
// loops over the lanes.
#include "emulator/instructions/families.h"
#include "emulator/warp.h"

namespace tandem::emulator {
namespace {

template <class T>
Outcome countSetBits(Warp& warp, const Instruction& in, Mask active) {
  eachLane(active, [&](unsigned lane) {
    warp.set(in.slots[0], lane, uint32_t(std::popcount(warp.get<T>(in.slots[1], lane))));
  });
  return Outcome::Next;
}

template <class T>
Outcome countLeadingZeros(Warp& warp, const Instruction& in, Mask active) {
  eachLane(active, [&](unsigned lane) {
    warp.set(in.slots[0], lane, uint32_t(std::countl_zero(warp.get<T>(in.slots[1], lane))));
  });
  return Outcome::Next;
}

void decode(Decoder& d, Handler narrow, Handler wide) {
  Type type = d.takeType();
  d.out.handler = bitsOf(type) == 64 ? wide : narrow;
  d.out.slots[0] = d.write(0);
  d.out.slots[1] = d.read(1, type);
}

}  // namespace

std::span<const Family> bitFamilies() {
  static constexpr Family kFamilies[] = {
      {"popc", [](Decoder& d) { decode(d, countSetBits<uint32_t>, countSetBits<uint64_t>); }},
      {"clz", [](Decoder& d) { decode(d, countLeadingZeros<uint32_t>, countLeadingZeros<uint64_t>); }},
  };
  return kFamilies;
}

}  // namespace tandem::emulator
