// Who wrote and read each part of a block's shared memory last.
#pragma once
#include "emulator/order/clock.h"
#include <vector>

namespace tandem::emulator {

struct Event {
  Time time = 0;  // 0: there was none
  Agent agent = 0;
  uint32_t statement = 0;  // of the program
  bool isAsync = false;    // by the async proxy
  bool isStrong = false;   // no race with another strong one
};

class Shadow {
 public:
  struct Part {
    // The last write. There are several if nothing orders them and that is right: atomics, and stores of what was there
    // already, as warps make that all have the same.
    std::vector<Event> writes;
    std::vector<Event> reads;  // since then, of each agent the last
  };

  // `grain`: bytes of a part, a power of two.
  Shadow(uint32_t bytes, uint32_t grain) : grain_(grain), parts_((bytes + grain - 1) / grain) {}

  // Calls f(part, where it begins in the block's memory, where in the range) for the parts of a range.
  template <class F> void each(uint32_t offset, uint32_t bytes, F&& f) {
    for (uint32_t i = offset / grain_; i <= (offset + bytes - 1) / grain_; ++i)
      f(parts_[i], i * grain_, i * grain_ < offset ? 0 : i * grain_ - offset);
  }

  uint32_t grain() const { return grain_; }

 private:
  uint32_t grain_;
  std::vector<Part> parts_;
};

}  // namespace tandem::emulator
