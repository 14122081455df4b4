// The projection behind an attention whose heads are dealt to ranks.
#pragma once
#include "tandem/gemm_config.h"
#include "tandem/operator.h"

namespace tandem::ops {

class Gathering;
class GemmChooser;

// out[rowsOfRank(m), n] = this rank's rows of all heads of x, [m, hq * d], times Wᵀ; each rank has all rows of its heads, dealt as
// QkvGemmAllToAll deals them. fp16, bf16 or fp32.
class TANDEM_API AllToAllOutGemm : public Operator {
 public:
  AllToAllOutGemm(Team& team, int64_t maxM, int64_t n, int64_t hq, int64_t hkv, int64_t d, DType dtype,
                  const GemmConfig& config = {});
  ~AllToAllOutGemm() override;
  // x: [m, heads of this rank, d], w: [n, hq * d], out: [rowsOfRank(m), n], all contiguous. Every rank calls with the same m <=
  // maxM. Queued on `stream`; work queued behind it may overwrite x.
  void run(const Tensor& x, const Tensor& w, const Tensor& out, int64_t m, int stream = 0) {
    call({{x, w, out}, {m}, stream});
  }
  TunedGemm tune(const Tensor& x, const Tensor& w, const Tensor& out, int64_t m, int stream = 0);

 private:
  void queue(const Call& call) override;
  std::string tune(const Call& call) override;
  void push(const Tensor& x, int64_t width, int64_t m, int64_t bandRows);

  int64_t n_, hq_, hkv_, d_, width_,
      pitch_;  // the most columns of a rank; rows from one rank's to the next's in gathered_
  std::unique_ptr<GemmChooser> chooser_;
  std::unique_ptr<Gathering> channel_;
  Tensor gathered_;
};

}  // namespace tandem::ops
