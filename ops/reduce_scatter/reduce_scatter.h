// ReduceScatter.
#pragma once
#include "tandem/collective_config.h"
#include "tandem/operator.h"

namespace tandem::ops {

// out[rowsOfRank(m), columns] = this rank's rows of the sum of every rank's x[m, columns]. Types and order as
// AllReduce's.
class TANDEM_API ReduceScatter : public Operator {
 public:
  ReduceScatter(Team& team, int64_t maxM, int64_t columns, DType dtype, const CollectiveConfig& config = {});
  // Every rank calls with the same m <= maxM. Queued on `stream`.
  void run(const Tensor& x, const Tensor& out, int64_t m, int stream = 0) { call({{x, out}, {m}, stream}); }

 private:
  void queue(const Call& call) override;

  int64_t columns_, mostChunks_;
  CollectiveConfig given_, config_;
  Tensor parts_, ready_, epochs_;
};

}  // namespace tandem::ops
