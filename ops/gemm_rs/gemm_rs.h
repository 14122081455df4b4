// GEMM + ReduceScatter.
#pragma once
#include "tandem/gemm_operator.h"

namespace tandem::ops {

class Scattering;

// out[rowsOfRank(m), n] = this rank's rows of the sum over ranks of A[m, k] · B[k, n], k being each rank's share. Types
// as AllGatherGemm's; partial products travel in the operator's type, of fp8 in bf16. The sum runs in fp32, in one
// order: the same bits in every run. a: [m, k], b: [k, n] (bTransposed: [n, k]), out: [rowsOfRank(m), n].
class TANDEM_API GemmReduceScatter : public GemmOperator {
 public:
  GemmReduceScatter(Team& team, int64_t maxM, int64_t n, int64_t k, DType dtype, const GemmConfig& config = {});
  ~GemmReduceScatter() override;

 private:
  void multiply(const Tensor& a, const Tensor& b, const Tensor& out, int64_t m, const GemmChoice& choice,
                int stream) override;

  std::unique_ptr<Scattering> channel_;
  Tensor epoch_, done_;
};

}  // namespace tandem::ops
