// ld and st of every state space and width, and hints about caches, which change nothing here.
#include "emulator/instructions/families.h"
#include "emulator/instructions/lanes.h"
#include "emulator/order/order.h"
#include <atomic>

namespace tandem::emulator {
namespace {

// `form` has the space, `count` the parts of a vector. Weak and volatile accesses, and those of any order and scope, are
// the host's: loads acquire and stores release. `slots[2]` is 1 of those that are not weak.
template <class T>
Outcome load(Warp& warp, const Instruction& in, Mask active) {
  const unsigned count = in.count;
  const size_t bytes = sizeof(T) * count;
  const uint64_t* addresses = warp.lanes(in.slots[0]);
  Order* order = warp.order();
  eachLane(active, [&](unsigned lane) {
    const std::byte* at = warp.reach(Space(in.form), addresses[lane] + uint64_t(in.immediate), bytes, bytes, lane);
    if (order) order->access(warp, in, lane, at, bytes, Access::Read, nullptr, in.slots[2]);
    T values[8];
    std::memcpy(values, at, bytes);
    for (unsigned i = 0; i < count; ++i) warp.lanes(in.list[i])[lane] = uint64_t(int64_t(values[i]));
  });
  return Outcome::Next;
}

template <class T>
Outcome store(Warp& warp, const Instruction& in, Mask active) {
  const unsigned count = in.count;
  const size_t bytes = sizeof(T) * count;
  const uint64_t* addresses = warp.lanes(in.slots[0]);
  Order* order = warp.order();
  eachLane(active, [&](unsigned lane) {
    T values[8];
    for (unsigned i = 0; i < count; ++i) values[i] = T(warp.lanes(in.list[i])[lane]);
    std::byte* at = warp.reach(Space(in.form), addresses[lane] + uint64_t(in.immediate), bytes, bytes, lane);
    if (order) order->access(warp, in, lane, at, bytes, Access::Write, values, in.slots[2]);
    std::memcpy(at, values, bytes);
  });
  return Outcome::Next;
}

// One element is the usual case.
template <class T>
Outcome loadOne(Warp& warp, const Instruction& in, Mask active) {
  const uint64_t* addresses = warp.lanes(in.slots[0]);
  uint64_t* to = warp.lanes(in.slots[1]);
  Order* order = warp.order();
  eachLane(active, [&](unsigned lane) {
    const std::byte* at =
        warp.reach(Space(in.form), addresses[lane] + uint64_t(in.immediate), sizeof(T), sizeof(T), lane);
    if (order) order->access(warp, in, lane, at, sizeof(T), Access::Read, nullptr, in.slots[2]);
    T value;
    std::memcpy(&value, at, sizeof value);
    to[lane] = uint64_t(int64_t(value));
  });
  return Outcome::Next;
}

template <class T>
Outcome storeOne(Warp& warp, const Instruction& in, Mask active) {
  const uint64_t *addresses = warp.lanes(in.slots[0]), *from = warp.lanes(in.slots[1]);
  Order* order = warp.order();
  eachLane(active, [&](unsigned lane) {
    std::byte* at = warp.reach(Space(in.form), addresses[lane] + uint64_t(in.immediate), sizeof(T), sizeof(T), lane);
    T value = T(from[lane]);
    if (order) order->access(warp, in, lane, at, sizeof(T), Access::Write, &value, in.slots[2]);
    std::memcpy(at, &value, sizeof value);
  });
  return Outcome::Next;
}

Handler handlerOf(Type type, bool isLoad, bool isOne) {
  auto of = [&]<class T>() -> Handler {
    if (isLoad) return isOne ? &loadOne<T> : &load<T>;
    return isOne ? &storeOne<T> : &store<T>;
  };
  switch (bitsOf(type)) {
    case 8: return isSigned(type) ? of.template operator()<int8_t>() : of.template operator()<uint8_t>();
    case 16: return isSigned(type) ? of.template operator()<int16_t>() : of.template operator()<uint16_t>();
    case 32: return isSigned(type) ? of.template operator()<int32_t>() : of.template operator()<uint32_t>();
    case 64: return of.template operator()<uint64_t>();
    default: return nullptr;
  }
}

unsigned partsOf(Decoder& d) { return d.take("v2") ? 2 : d.take("v4") ? 4 : d.take("v8") ? 8 : 1; }

// An operand beside is a cache policy.
void takeHints(Decoder& d) {
  for (const char* strong : {"volatile", "relaxed", "acquire", "release", "mmio"}) d.out.slots[2] |= d.take(strong);
  d.ignore({"weak", "cta", "cluster", "gpu", "sys", "nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "unified"});
  d.takeAfter("L1::");
  while (!d.takeAfter("L2::").empty()) {
  }
}

template <bool kIsLoad>
void access(Decoder& d) {
  takeHints(d);
  d.out.form = uint16_t(d.takeSpace());
  unsigned parts = partsOf(d);
  Type type = d.takeType();
  const Operand& registers = d.operand(kIsLoad ? 0 : 1);
  AddressSlot address = d.address(kIsLoad ? 1 : 0);
  d.out.slots[0] = address.base;
  d.out.immediate = address.offset;
  d.out.count = uint8_t(parts);
  std::vector<Operand> list =
      registers.kind == Operand::Kind::Vector ? registers.parts : std::vector<Operand>{registers};
  if (list.size() != parts) d.fail("it has another number of registers than parts");
  std::vector<Slot> slots;
  for (const Operand& part : list) slots.push_back(kIsLoad ? d.write(part) : d.read(part, type));
  d.out.slots[1] = slots[0];
  d.out.handler = handlerOf(type, kIsLoad, parts == 1);
  d.out.list = d.keep(std::move(slots));
}

Outcome nothing(Warp&, const Instruction&, Mask) { return Outcome::Next; }

// Hints: modifiers of all kinds and no results.
void hint(Decoder& d) {
  for (const std::string& modifier : d.statement.modifiers) d.take(modifier);
  d.out.handler = nothing;
}

Outcome makePolicy(Warp& warp, const Instruction& in, Mask active) {
  eachLane(active, [&](unsigned lane) { warp.set(in.slots[0], lane, uint64_t(0)); });
  return Outcome::Next;
}

}  // namespace

std::span<const Family> memoryFamilies() {
  static constexpr Family kFamilies[] = {
      {"ld", access<true>},
      {"ldu", access<true>},
      {"st", access<false>},
      {"prefetch", hint},
      {"prefetchu", hint},
      {"applypriority", hint},
      {"discard", hint},
      {"createpolicy",
       [](Decoder& d) {
         hint(d);
         d.out.handler = makePolicy;
         d.out.slots[0] = d.write(0);
       }},
  };
  return kFamilies;
}

}  // namespace tandem::emulator
