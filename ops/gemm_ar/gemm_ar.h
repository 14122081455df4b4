// GEMM + AllReduce.
#pragma once
#include "tandem/gemm_operator.h"

namespace tandem::ops {

class AllGather;
class GemmReduceScatter;

using GemmAllReduceConfig = GemmConfig;

// out[m, n] = sum over ranks of A[m, k] · B[k, n] on every rank, k being each rank's share: made for few rows, where
// reading B takes the time. Types and order as GemmReduceScatter's, and the same bits on every rank. a: [m, k], b: [k, n]
// (bTransposed: [n, k]), out: [m, n].
class TANDEM_API GemmAllReduce : public GemmOperator {
 public:
  GemmAllReduce(Team& team, int64_t maxM, int64_t n, int64_t k, DType dtype, const GemmAllReduceConfig& config = {});
  ~GemmAllReduce() override;

 private:
  void multiply(const Tensor& a, const Tensor& b, const Tensor& out, int64_t m, const GemmChoice& choice,
                int stream) override;
  std::vector<Operator*> parts() const override;

  // Of many rows the sums are scattered, and travel while others are multiplied, and then gathered. Null where no call is.
  std::unique_ptr<GemmReduceScatter> scatter_;
  std::unique_ptr<AllGather> gather_;
  Tensor own_;  // this rank's sums
};

}  // namespace tandem::ops
