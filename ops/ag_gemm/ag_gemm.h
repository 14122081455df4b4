// AllGather + GEMM.
#pragma once
#include "tandem/gemm_operator.h"

namespace tandem::ops {

class Gathering;

// out[m, n] = gather(A)[m, k] · B[k, n]; A is sharded by rows, B and out belong to the rank. fp16, bf16, fp32 or fp8
// (both operands of one type); out is fp16, bf16 or fp32. a: [rowsOfRank(m), k], b: [k, n] (bTransposed: [n, k]), out:
// [m, n]. Work queued behind a call may overwrite a.
class TANDEM_API AllGatherGemm : public GemmOperator {
 public:
  AllGatherGemm(Team& team, int64_t maxM, int64_t n, int64_t k, DType dtype, const GemmConfig& config = {});
  ~AllGatherGemm() override;

 private:
  void multiply(const Tensor& a, const Tensor& b, const Tensor& out, int64_t m, const GemmChoice& choice,
                int stream) override;

  int64_t pitch_;  // rows from one shard to the next in gathered_
  std::unique_ptr<Gathering> channel_;
  Tensor gathered_, pieces_, brought_;
};

}  // namespace tandem::ops
