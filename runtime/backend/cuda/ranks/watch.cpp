// Pinned memory that the device reaches.
#include "runtime/backend/cuda/ranks/watch.h"
#include <cstring>

namespace tandem::runtime::cuda {

Watch::Watch(int device, uint64_t timeoutMs) {
  constexpr unsigned portable = 1, deviceMap = 2;
  constexpr uint64_t nanoseconds = 1000000;
  OnDevice scope(device);
  void* host = nullptr;
  std::string doing = "the watch of a rank on device " + std::to_string(scope.device());
  check(needed(driver().memHostAlloc, "cuMemHostAlloc")(&host, sizeof(Words), portable | deviceMap), "cuMemHostAlloc",
        doing);
  std::memset(host, 0, sizeof(Words));
  host_ = static_cast<Words*>(host);
  host_->watch.timeout_ns = timeoutMs * nanoseconds;
  check(needed(driver().memHostGetDevicePointer, "cuMemHostGetDevicePointer_v2")(&device_, host, 0),
        "cuMemHostGetDevicePointer", doing);
}

Watch::~Watch() { driver().memFreeHost(host_); }

}  // namespace tandem::runtime::cuda
