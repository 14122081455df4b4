// AllGather.
#pragma once
#include "tandem/collective_config.h"
#include "tandem/operator.h"

namespace tandem::ops {

class PeerCopies;
class Packets;

struct AllGatherConfig : CollectiveConfig {
  int64_t packetsBytes = 128 << 20;  // results of at most this many bytes travel in packets
};

// out[m, columns] = the rows x[rowsOfRank(m), columns] of all ranks, of any element type. Small ones travel in packets
// with flags, large ones by copy engines, which need no multiprocessor.
class TANDEM_API AllGather : public Operator {
 public:
  AllGather(Team& team, int64_t maxM, int64_t columns, DType dtype, const AllGatherConfig& config = {});
  ~AllGather() override;
  // Every rank calls with the same m <= maxM. `symmetricOut`: out is the same symmetric tensor on every rank, so that
  // copies need no workspace. Queued on `stream`.
  void run(const Tensor& x, const Tensor& out, int64_t m, int stream = 0, bool symmetricOut = false) {
    call({{x, out}, {m, symmetricOut}, stream});
  }

 private:
  void queue(const Call& call) override;
  void runPackets(const Tensor& x, const Tensor& out, int64_t m, int stream);
  void runCopies(const Tensor& x, const Tensor& out, int64_t m, int stream, bool symmetricOut);

  int64_t columns_, packetsBytes_;
  std::unique_ptr<Packets> packets_;
  std::unique_ptr<PeerCopies> copies_;
  Tensor gathered_;
};

}  // namespace tandem::ops
