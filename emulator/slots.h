// Which registers may share a slot: a kernel's text names thousands, of which few are in use at one place.
#pragma once
#include "emulator/instruction.h"
#include <utility>
#include <vector>

namespace tandem::emulator {

class SlotLives {
 public:
  // A virtual slot is read or written by the instruction at this place of the code. A write that some lanes leave out
  // does not begin a life: the lanes may still hold what an earlier round of a loop wrote.
  void note(Slot slot, uint32_t at, bool isWholeWrite);
  void noteLoop(uint32_t begin, uint32_t end) { loops_.emplace_back(begin, end); }  // from a branch back
  void keepForever(Slot slot) { note(slot, 0, true), forever_.push_back(slot); }
  // Gives every virtual slot its own; returns how many there are.
  uint32_t assign();
  Slot of(Slot slot) const { return assigned_[slot]; }

 private:
  struct Life {
    uint32_t begin = ~0u, end = 0;
    bool isWritten = false;  // by its first use
  };
  std::vector<Life> lives_;
  std::vector<std::pair<uint32_t, uint32_t>> loops_;
  std::vector<Slot> forever_, assigned_;
};

}  // namespace tandem::emulator
