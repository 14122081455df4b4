// A device's global timer beside the host's steady clock, which all processes of the machine share.
#pragma once
#include "runtime/backend/cuda/context.h"

namespace tandem::runtime::cuda {

// The same moment on both clocks, in nanoseconds; wrong by `doubtNs` at most.
struct ClockPair {
  uint64_t deviceNs = 0;
  int64_t hostNs = 0, doubtNs = 0;
  uint64_t lastNs = 0;  // of the device, when it had answered for the last time
};

int64_t hostClockNs();

class DeviceClock {
 public:
  explicit DeviceClock(int device);  // loads the kernel that answers with the time
  ~DeviceClock();
  DeviceClock(const DeviceClock&) = delete;
  DeviceClock& operator=(const DeviceClock&) = delete;

  // Asks the device some times and keeps the quickest answer. Needs a multiprocessor for a moment. `then` (null: none) is
  // recorded where the stream goes on, right after `lastNs`.
  ClockPair compare(Stream stream, Event then = nullptr);

 private:
  struct Words {
    uint32_t asked, answered;
    uint64_t deviceNs;
  };
  void ask(Stream stream, uint32_t round);

  int device_;
  Function function_ = nullptr;
  Words* host_ = nullptr;
  Address words_ = 0;
};

// Device time as host time: a straight line through two pairs, for the clocks' rates differ by some millionths.
class HostTime {
 public:
  HostTime(const ClockPair& first, const ClockPair& last);
  int64_t of(uint64_t deviceNs) const;

 private:
  ClockPair first_;
  double rate_ = 1;
};

}  // namespace tandem::runtime::cuda
