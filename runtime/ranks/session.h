// A session of ranks that each have a device: threads of this process, or one rank of a run of several processes.
#pragma once
#include "runtime/ranks/device.h"

namespace tandem::runtime::ranks {

struct RanksOptions {
  int ranks = 1;
  int rank = -1;                // this process's only rank; -1: all ranks are threads of this process
  std::string rendezvous = {};  // the same for all processes of a run; threads need none
  // one for each rank of this process; empty: rank r takes device r (modulo their number)
  std::vector<int> devices = {};
  uint64_t waitTimeoutMs = 0;                // of one wait of a kernel or a stream; 0: never
  bool trace = false;                        // kernels compiled for the session's target record their times
  uint64_t heapStride = uint64_t(64) << 30;  // addresses reserved for a rank's part of the symmetric heap
};

// Throws what the platform throws where it has no device, std::invalid_argument on options that do not fit. The ranks
// meet in enter().
std::unique_ptr<runtime::Session> makeSession(const RanksOptions& options, std::shared_ptr<const Platform> platform);

}  // namespace tandem::runtime::ranks
