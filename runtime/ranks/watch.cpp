// The device's waits and the host look at the same words.
#include "runtime/ranks/watch.h"

namespace tandem::runtime::ranks {

Watch::Watch(Device& device, uint64_t timeoutMs)
    : device_(device), shared_(device.allocateShared(sizeof(Words), "the watch of a rank")),
      host_(static_cast<Words*>(shared_.host)) {
  constexpr uint64_t nanoseconds = 1000000;
  host_->watch.timeout_ns = timeoutMs * nanoseconds;
}

Watch::~Watch() { device_.releaseShared(shared_); }

}  // namespace tandem::runtime::ranks
