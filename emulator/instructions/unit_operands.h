// The families of the tensor cores' and the copies' instructions share this: operands that are addresses or
// vectors, and errors of the units as faults of a lane.
#pragma once
#include "emulator/decoder.h"
#include "emulator/order/order.h"
#include "emulator/units/mbarrier.h"
#include "emulator/units/product.h"
#include "emulator/units/tensor_map.h"
#include "emulator/warp.h"
#include <array>
#include <string>
#include <vector>

namespace tandem::emulator {

struct Address {
  AddressSlot slot{};
  Space space = Space::Generic;

  bool isShared() const { return space == Space::Shared || space == Space::SharedCluster; }
  // Shared memory's addresses have 32 bits, in registers of 32 or 64.
  uint64_t of(const Warp& warp, unsigned lane) const {
    if (isShared()) return uint32_t(warp.get<uint32_t>(slot.base, lane) + uint64_t(slot.offset));
    return warp.get<uint64_t>(slot.base, lane) + uint64_t(slot.offset);
  }
  std::byte* reach(Warp& warp, size_t bytes, size_t alignment, unsigned lane) const {
    return warp.reach(space, of(warp, lane), bytes, alignment, lane);
  }
};

// The registers of {a, b, c}, or of an operand that is one register.
inline std::vector<const Operand*> partsOf(const Operand& operand) {
  if (operand.kind != Operand::Kind::Vector) return {&operand};
  std::vector<const Operand*> parts;
  for (const Operand& part : operand.parts) parts.push_back(&part);
  return parts;
}

inline std::vector<Slot> readAll(Decoder& d, const Operand& operand, Type type) {
  std::vector<Slot> slots;
  for (const Operand* part : partsOf(operand)) slots.push_back(d.read(*part, type));
  return slots;
}

inline std::vector<Slot> writeAll(Decoder& d, const Operand& operand) {
  std::vector<Slot> slots;
  for (const Operand* part : partsOf(operand)) slots.push_back(d.write(*part));
  return slots;
}

inline int64_t constantOf(Decoder& d, size_t index) {
  if (d.operand(index).kind != Operand::Kind::Integer) d.fail("an operand that must be a constant is none");
  return int64_t(d.operand(index).bits);
}

// The spaces that a copy's modifiers name, in their order: where to, where from.
inline std::array<Space, 2> takeSpaces(Decoder& d) {
  std::array<Space, 2> spaces{};
  size_t count = 0;
  for (const std::string& word : d.statement.modifiers) {
    bool isGlobal = word == "global", isCluster = word == "shared::cluster";
    if (!isGlobal && !isCluster && word != "shared" && word != "shared::cta") continue;
    if (count == spaces.size() || !d.take(word)) d.fail("it names more than two spaces");
    spaces[count++] = isGlobal ? Space::Global : isCluster ? Space::SharedCluster : Space::Shared;
  }
  if (count != spaces.size()) d.fail("it does not name two spaces");
  return spaces;
}

// Calls f(lane) for the lanes of the mask; what a unit refuses is a fault of that lane.
template <class F> void eachLaneOfUnit(Mask mask, F&& f) {
  eachLane(mask, [&](unsigned lane) {
    try {
      f(lane);
    } catch (const MbarrierError& error) {
      throw Fault(Fault::LaunchFailed, error.what(), int(lane));
    } catch (const TensorMapError& error) {
      throw Fault(Fault::IllegalInstruction, error.what(), int(lane));
    }
  });
}

// Calls f with the mbarrier at an address, and where it lies; f may change it.
template <class F> void changeBarrier(Warp& warp, Space space, uint64_t address, unsigned lane, F&& f) {
  constexpr size_t kBytes = 8;
  std::byte* at = warp.reach(space, address, kBytes, kBytes, lane);
  uint64_t bits;
  std::memcpy(&bits, at, kBytes);
  Mbarrier barrier(bits);
  unsigned phase = barrier.phase();
  f(barrier, static_cast<const std::byte*>(at));
  if (Order* order = warp.order(); order && barrier.phase() != phase) order->endPhase(at, phase);
  bits = barrier.bits();
  std::memcpy(at, &bits, kBytes);
}

// All threads of a warp carry an .aligned instruction out together.
inline bool isWhole(const Warp& warp, Mask active) { return warp.isJoined(active, kAllLanes); }

}  // namespace tandem::emulator
