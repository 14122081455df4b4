// GEMM + AllReduce of many rows: GEMM + ReduceScatter, whose parts travel while others are multiplied, and then an
// AllGather of the sums.
#pragma once
#include "tandem/gemm_config.h"
#include "tandem/operator.h"

namespace tandem::ops {

class AllGather;
class GemmReduceScatter;

class Scattered {
 public:
  // [collective] For calls of up to `maxM` rows on two or more ranks.
  Scattered(Team& team, Memory& memory, int64_t maxM, int64_t n, int64_t k, DType dtype, bool bTransposed);
  ~Scattered();
  // GemmAllReduce's tensors.
  void run(const Tensor& a, const Tensor& b, const Tensor& out, int64_t m, int stream);
  std::vector<Operator*> parts() const;

 private:
  Team& team_;
  std::unique_ptr<GemmReduceScatter> scatter_;
  std::unique_ptr<AllGather> gather_;
  Tensor own_;  // this rank's sums
};

}  // namespace tandem::ops
