// The multi-GPU session: ranks that are threads of this process, or one rank of a run of several processes.
#pragma once
#include "runtime/session.h"
#include <memory>
#include <string>
#include <vector>

namespace tandem::runtime::cuda {

// A transport is the way in which ranks reach each other; a session's `transport` option chooses it.
enum class Transport : uint8_t {
  Automatic,  // through NVSHMEM when some rank cannot reach another's device
  NvLink,     // by mapped memory
  Nvshmem,
};
Transport transportOf(const std::string& word);  // "auto", "nvlink", "nvshmem"; throws on others

struct RanksOptions {
  int ranks = 1;
  int rank = -1;                // this process's only rank; -1: all ranks are threads of this process
  std::string rendezvous = {};  // the same for all processes of a run; threads need none
  std::vector<int> devices =
      {};                      // one for each rank of this process; empty: rank r takes device r (modulo their number)
  uint64_t waitTimeoutMs = 0;  // of one wait of a kernel or a stream; 0: never
  Transport transport = Transport::Automatic;
  bool trace = false;  // kernels compiled for the session's target record their times
  uint64_t heapStride = uint64_t(64) << 30;  // addresses reserved for a rank's part of the symmetric heap
};

// Throws Unavailable without a driver, std::invalid_argument on options that do not fit. The ranks meet in enter().
std::unique_ptr<runtime::Session> makeSession(const RanksOptions& options);

}  // namespace tandem::runtime::cuda
