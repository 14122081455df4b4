// A warp's registers, the groups into which its threads have diverged, and the memory that its instructions reach.
#pragma once
#include "emulator/block.h"
#include "emulator/instruction.h"
#include "emulator/memory.h"
#include "emulator/program.h"
#include "emulator/types.h"
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tandem::emulator {

// A register of a warp. A lane's bits above its own type are undefined: who reads takes the low ones.
struct alignas(64) Register {
  uint64_t lanes[kLanes];
};

template <class T>
inline T fromBits(uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

template <class T>
inline uint64_t toBits(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

class Warp {
 public:
  Warp(Block& block, unsigned index);

  uint64_t* lanes(Slot slot) { return frame_[slot].lanes; }
  template <class T> T get(Slot slot, unsigned lane) const { return fromBits<T>(frame_[slot].lanes[lane]); }
  template <class T> void set(Slot slot, unsigned lane, T value) { frame_[slot].lanes[lane] = toBits(value); }
  Mask& predicate(Slot slot) { return predicates_[slot]; }
  void setPredicate(Slot slot, Mask active, Mask values) {
    predicates_[slot] = (predicates_[slot] & ~active) | (values & active);
  }

  // The host's memory behind `bytes` bytes at an address of the lane's. Throws Fault if they are outside of all
  // allocations, or the address is no multiple of `alignment`.
  std::byte* reach(Space space, uint64_t address, size_t bytes, size_t alignment, unsigned lane) {
    if (address & (alignment - 1)) misaligned(space, address, alignment, lane);
    if (space == Space::Shared) {
      uint64_t offset = address - Block::kSharedBegin;
      if (offset < block.sharedBytes() && bytes <= block.sharedBytes() - offset) return block.shared() + offset;
    }
    if (space <= Space::Global && recent_.holds(address, bytes) && recentChanges_ == memory_.changes())
      return reinterpret_cast<std::byte*>(address);
    return reachOther(space, address, bytes, lane);
  }

  Order* order() const { return block.cluster.order.get(); }  // null: not checked

  // Lanes that have not ended.
  Mask alive() const { return alive_; }
  // True if all lanes of `members` that are alive are in `active`; else an instruction of them all waits.
  bool isJoined(Mask active, Mask members) const { return (members & alive_ & ~active) == 0; }

  // Where the lanes go on; the others go to the next instruction. The handler returns Outcome::Jump.
  void branch(Mask taken, uint32_t target);
  // Likewise, but the others carry out the same instruction again.
  void split(Mask taken, uint32_t target);
  void exit(Mask ended);  // likewise

  Block& block;
  const unsigned index;  // in its block

  // The phase of a barrier in which the warp has arrived and for whose end it waits; nothing in between.
  std::optional<uint32_t> awaitedPhase, clusterPhase;

  // Runs at most `budget` instructions; returns how many. Fewer: it waits, or has ended.
  uint32_t run(uint32_t budget);
  bool hasEnded() const { return alive_ == 0; }
  const Instruction& current() const;  // of the group that runs or waits, for reports
  Mask active() const { return groups_[running_].mask; }
  uint64_t instructionsRun = 0;

 private:
  struct Group {
    uint32_t at;  // in the program
    Mask mask;
    bool waits;
  };

  [[noreturn]] void misaligned(Space space, uint64_t address, size_t alignment, unsigned lane) const;
  std::byte* reachOther(Space space, uint64_t address, size_t bytes, unsigned lane);
  bool choose();
  void join();
  uint64_t valueAtStart(const Initial& initial, unsigned lane) const;

  const Instruction* code_;
  std::unique_ptr<Register[]> frame_;
  std::vector<Mask> predicates_;
  std::unique_ptr<std::byte[]> local_;  // of lane after lane
  uint32_t localBytes_ = 0;             // of a lane
  const GlobalMemory& memory_;
  Range recent_;  // of global memory, where the last access was
  uint64_t recentChanges_ = 0;
  Mask alive_ = 0;
  std::vector<Group> groups_;
  size_t running_ = 0;
  bool spins_ = false;   // the last run ended by its budget
  uint32_t stop_ = ~0u;  // the next group's place ahead, where the running group joins it
};

std::string hex(uint64_t address);  // 0x...

}  // namespace tandem::emulator
