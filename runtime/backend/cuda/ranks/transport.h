// The ranks of a run reach each other by mapped memory, or through NVSHMEM; this header chooses.
#pragma once
#include "runtime/backend/cuda/ranks/rendezvous.h"
#include "runtime/backend/cuda/ranks/session.h"

namespace tandem::runtime::cuda {

struct TransportChoice {
  Transport wish = Transport::Automatic;
  int rank = 0, rankCount = 1, device = 0;
  bool ownProcess = false;  // no other rank of the run is in this process
};

// [all ranks] Returns true if the run goes through NVSHMEM, the same on all; throws if that cannot be. The device's
// context is current.
bool agreeOnNvshmem(Rendezvous& ranks, const TransportChoice& choice);

// NVSHMEM runs while a rank is open.
class NvshmemWorld {
 public:
  // [all ranks] Starts it.
  NvshmemWorld(Rendezvous& ranks, const TransportChoice& choice);
  NvshmemWorld(const NvshmemWorld&) = delete;
  NvshmemWorld& operator=(const NvshmemWorld&) = delete;
  // [all ranks] Ends it once all have come; throws RunStopped when one does not come. A world that is not ended stays
  // until the process ends: its end would wait for every rank.
  void end();

 private:
  Rendezvous& ranks_;
  std::vector<int> world_;
};

}  // namespace tandem::runtime::cuda
