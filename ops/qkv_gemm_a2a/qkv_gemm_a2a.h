// The projections before an attention whose heads are dealt to ranks.
#pragma once
#include "tandem/gemm_config.h"
#include "tandem/operator.h"

namespace tandem::ops {

class GemmChooser;

// q[m, heads, d], kv[2, m, heads of keys, d] = all rows of this rank's heads of x[m, h] · Wᵀ, x sharded by rows. w[(hq + 2 hkv)
// * d, h] has the rows of the queries' heads, then the keys', then the values'. Heads of keys are dealt to the ranks, each
// with its queries; where there are fewer than ranks, several ranks have the same keys and share their queries. fp16, bf16 or fp32.
class TANDEM_API QkvGemmAllToAll : public Operator {
 public:
  QkvGemmAllToAll(Team& team, int64_t maxM, int64_t h, int64_t hq, int64_t hkv, int64_t d, DType dtype,
                  const GemmConfig& config = {});
  ~QkvGemmAllToAll() override;
  // x: [rowsOfRank(m), h], all contiguous. Every rank calls with the same m <= maxM. Queued on `stream`.
  void run(const Tensor& x, const Tensor& w, const Tensor& q, const Tensor& kv, int64_t m, int stream = 0) {
    call({{x, w, kv, q}, {m}, stream});
  }
  TunedGemm tune(const Tensor& x, const Tensor& w, const Tensor& q, const Tensor& kv, int64_t m, int stream = 0);

 private:
  void queue(const Call& call) override;
  std::string tune(const Call& call) override;
  void pull(const GemmConfig& config, const Tensor& q, const Tensor& kv, int64_t m, int stream);

  int64_t h_, hq_, hkv_, d_, mostQ_, mostKv_;  // the last ones: columns
  std::unique_ptr<GemmChooser> chooser_;
  Tensor awayQ_, awayKv_, brought_, begun_, epoch_, done_;
};

}  // namespace tandem::ops
