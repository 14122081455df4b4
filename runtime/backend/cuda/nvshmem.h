// NVSHMEM's host library, opened at run time when a run goes through it. It has one rank a process and starts once.
// Knows nothing of how ranks meet.
#pragma once
#include "runtime/backend/cuda/driver_abi.h"
#include <mutex>
#include <string>
#include <vector>

namespace tandem::runtime::cuda {

class Nvshmem {
 public:
  // One rank's, handed to all.
  std::string uniqueId() const;
  // [all ranks] The device's context is current. Throws where NVSHMEM does not start, or was started before.
  void start(int rank, int rankCount, const std::string& uniqueId);
  // [all ranks] Ends NVSHMEM; the process goes on without it.
  void end();
  bool runs() const { return state_ == State::Runs; }
  std::string version() const;

  Address allocate(uint64_t bytes) const;           // [all ranks] 0: there is no more
  Address onPeer(Address address, int peer) const;  // 0: the peer's memory is not mapped
  // Makes a loaded module known whose kernels call NVSHMEM; a module without such kernels is left alone. Throws when
  // NVSHMEM does not run.
  void prepare(Module module);

 private:
  friend Nvshmem& nvshmem();
  Nvshmem();

  enum class State { Idle, Runs, Over };
  struct Functions;
  const Functions* call_;
  State state_ = State::Idle;
  std::mutex mutex_;  // modules_
  std::vector<Module> modules_;
};

// Throws Unavailable, with the folders searched, when it is not installed (base/nvshmem_install.h) or cannot be opened.
Nvshmem& nvshmem();

}  // namespace tandem::runtime::cuda
