// The ranks of a run reach each other by mapped memory, or through NVSHMEM; this header chooses.
#pragma once
#include "runtime/ranks/rendezvous.h"
#include "runtime/backend/cuda/ranks/session.h"

namespace tandem::runtime::cuda {

// [all ranks] Returns true if the run goes through NVSHMEM, the same on all; throws if that cannot be. The device's
// context is current.
bool agreeOnNvshmem(ranks::Rendezvous& ranks, Transport wish, const ranks::RankPlace& place);

// NVSHMEM runs while a rank is open.
class NvshmemWorld {
 public:
  // [all ranks] Starts it.
  NvshmemWorld(ranks::Rendezvous& ranks, const ranks::RankPlace& place);
  NvshmemWorld(const NvshmemWorld&) = delete;
  NvshmemWorld& operator=(const NvshmemWorld&) = delete;
  // [all ranks] Ends it once all have come; throws RunStopped when one does not come. A world that is not ended stays
  // until the process ends: its end would wait for every rank.
  void end();

 private:
  ranks::Rendezvous& ranks_;
  std::vector<int> world_;
};

}  // namespace tandem::runtime::cuda
