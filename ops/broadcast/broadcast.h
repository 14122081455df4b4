// Broadcast.
#pragma once
#include "tandem/collective_config.h"
#include "tandem/operator.h"

namespace tandem::ops {

class PeerCopies;
class Packets;

struct BroadcastConfig : CollectiveConfig {
  int64_t packetsBytes = 128 << 20;  // up to this many bytes, the tensor's times the peers twice, travel in packets
};

// out = the root's x, on every rank, of any element type. Small ones travel in packets with flags, large ones by copy
// engines.
class TANDEM_API Broadcast : public Operator {
 public:
  Broadcast(Team& team, int64_t maxElements, DType dtype, const BroadcastConfig& config = {});
  ~Broadcast() override;
  // Contiguous, of one size, the same on every rank; out may be x, which only the root reads. Every rank calls with the
  // same root. `symmetricOut`: out is the same symmetric tensor on every rank, so that copies need no workspace. Queued
  // on `stream`.
  void run(const Tensor& x, const Tensor& out, int root, int stream = 0, bool symmetricOut = false) {
    call({{x, out}, {x.size(), root, symmetricOut}, stream});
  }

 private:
  void queue(const Call& call) override;
  void runCopies(const Tensor& x, const Tensor& out, int root, int stream, bool symmetricOut);

  int64_t mostInPackets_;  // bytes
  std::unique_ptr<Packets> packets_;
  std::unique_ptr<PeerCopies> copies_;
  Tensor landing_;
};

}  // namespace tandem::ops
