// ReduceScatter.
#pragma once
#include "tandem/collective_config.h"
#include "tandem/operator.h"

namespace tandem::ops {

class Packets;

struct ReduceScatterConfig : CollectiveConfig {
  int64_t packetsBytes = 32 << 20;  // rows of a rank of at most this many bytes travel in packets
};

// out[rowsOfRank(m), columns] = this rank's rows of the sum of every rank's x[m, columns]. Types and order as
// AllReduce's, on both ways.
class TANDEM_API ReduceScatter : public Operator {
 public:
  ReduceScatter(Team& team, int64_t maxM, int64_t columns, DType dtype, const ReduceScatterConfig& config = {});
  ~ReduceScatter() override;
  // Every rank calls with the same m <= maxM. Queued on `stream`.
  void run(const Tensor& x, const Tensor& out, int64_t m, int stream = 0) { call({{x, out}, {m}, stream}); }

 private:
  void queue(const Call& call) override;

  int64_t columns_, packetsBytes_, mostChunks_ = 0;
  CollectiveConfig given_, config_;
  std::unique_ptr<Packets> packets_;
  Tensor parts_, ready_, epochs_;
};

}  // namespace tandem::ops
