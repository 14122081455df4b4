// A rank's `tandem_dist_watch` (abi/dist_context.h) in memory of the host that the device reaches, and beside it how
// far its streams' own waits have come.
#pragma once
#include "abi/dist_context.h"
#include "runtime/ranks/device.h"
#include <cstddef>

namespace tandem::runtime::ranks {

class Watch {
 public:
  // Streams whose waits are followed; streams beyond share.
  static constexpr unsigned kStreams = 64;

  Watch(Device& device, uint64_t timeoutMs);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  void stop() { __atomic_store_n(&host_->watch.stop, 1u, __ATOMIC_RELEASE); }  // any thread
  bool gaveUp() const { return __atomic_load_n(&host_->watch.found, __ATOMIC_ACQUIRE) == 2; }
  const tandem_dist_watch& words() const { return host_->watch; }
  Address onDevice() const { return shared_.device; }

  // The number of the wait that a stream has begun, and of the last that it has passed.
  uint32_t begun(unsigned stream) const {
    return __atomic_load_n(&host_->progress[stream % kStreams][0], __ATOMIC_ACQUIRE);
  }
  uint32_t passed(unsigned stream) const {
    return __atomic_load_n(&host_->progress[stream % kStreams][1], __ATOMIC_ACQUIRE);
  }
  Address begunWord(unsigned stream) const {
    return shared_.device + offsetof(Words, progress) + stream % kStreams * 8;
  }
  Address passedWord(unsigned stream) const { return begunWord(stream) + 4; }

 private:
  struct Words {
    tandem_dist_watch watch;
    alignas(64) uint32_t progress[kStreams][2];
  };
  Device& device_;
  SharedWords shared_;
  Words* host_ = nullptr;
};

}  // namespace tandem::runtime::ranks
