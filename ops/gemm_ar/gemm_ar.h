// GEMM + AllReduce.
#pragma once
#include "tandem/gemm_config.h"
#include "tandem/operator.h"

namespace tandem::ops {

struct GemmAllReduceConfig : GemmConfig {
  int splits = 0;  // programs that share the inner dimension of a tile
  // Results up to this many bytes are summed by every rank for itself; -1: the operator chooses.
  int64_t oneShotBytes = -1;
  int64_t packetsBytes = -1;  // up to this many bytes, parts travel in packets
};

// out[m, n] = sum over ranks of A[m, k] · B[k, n] on every rank, k being each rank's share: made for few rows, where
// reading B takes the time. Types and order as GemmReduceScatter's, and the same bits on every rank.
class TANDEM_API GemmAllReduce : public Operator {
 public:
  GemmAllReduce(Team& team, int64_t maxM, int64_t n, int64_t k, DType dtype, const GemmAllReduceConfig& config = {});
  // a: [m, k], b: [k, n] (bTransposed: [n, k]), out: [m, n], all contiguous. Every rank calls with the same m <= maxM.
  // Queued on `stream`.
  void run(const Tensor& a, const Tensor& b, const Tensor& out, int64_t m, int stream = 0) {
    call({{a, b, out}, {m, int64_t(out.dtype)}, stream});
  }

 private:
  struct Plan;
  void queue(const Call& call) override;
  Plan planned(int64_t m, bool blocks) const;

  int64_t n_, k_;
  GemmAllReduceConfig config_;
  int programs_;
  int64_t setElements_, setPackets_;
  Tensor parts_, sums_, packets_, splits_, ready_, done_, counted_, epochs_;
};

}  // namespace tandem::ops
