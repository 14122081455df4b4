// The host's time, and device time as host time.
#include "runtime/ranks/host_clock.h"
#include <chrono>
#include <cmath>

namespace tandem::runtime::ranks {

int64_t hostClockNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

HostTime::HostTime(const ClockPair& first, const ClockPair& last) : first_(first) {
  constexpr uint64_t longEnoughNs = 10000000;  // below, doubt would weigh more than drift
  if (last.deviceNs > first.deviceNs + longEnoughNs)
    rate_ = double(last.hostNs - first.hostNs) / double(last.deviceNs - first.deviceNs);
}

int64_t HostTime::of(uint64_t deviceNs) const {
  return first_.hostNs + std::llround(double(int64_t(deviceNs - first_.deviceNs)) * rate_);
}

}  // namespace tandem::runtime::ranks
