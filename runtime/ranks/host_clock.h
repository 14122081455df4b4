// A device's global timer beside the host's steady clock, which all processes of the machine share.
#pragma once
#include <cstdint>

namespace tandem::runtime::ranks {

// The same moment on both clocks, in nanoseconds; wrong by `doubtNs` at most.
struct ClockPair {
  uint64_t deviceNs = 0;
  int64_t hostNs = 0, doubtNs = 0;
  uint64_t lastNs = 0;  // of the device, when it had answered for the last time
};

int64_t hostClockNs();

// Device time as host time: a straight line through two pairs, for the clocks' rates differ by some millionths.
class HostTime {
 public:
  HostTime(const ClockPair& first, const ClockPair& last);
  int64_t of(uint64_t deviceNs) const;

 private:
  ClockPair first_;
  double rate_ = 1;
};

}  // namespace tandem::runtime::ranks
