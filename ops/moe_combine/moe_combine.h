// Grouped GEMM + combine.
#pragma once
#include "tandem/moe_config.h"
#include "tandem/operator.h"

namespace tandem::ops {

class SummedProduct;

struct MoeCombineConfig : GroupedConfig {
  int parts = 0, slotColumns = 0;  // as in MoeRsConfig
};

// out = for each of this rank's tokens the sum over its slots of h · w[e]^T, by the route's weights, whichever rank has the
// expert: the second half of a mixture of experts of which each rank has some, whole, behind DispatchMoe or EpDispatch.
// fp16, bf16, fp32 or fp8e4nv with scales (what is summed, and out, is bf16 then); sums run in fp32, over a rank's slots,
// then over ranks, the own one first and then in their order: the same bits in every run.
class TANDEM_API MoeCombine : public Operator {
 public:
  // `maxM`: the most tokens of a rank; `n`: columns of the result; `k`: columns of h; `experts`: of all ranks.
  MoeCombine(Team& team, int64_t maxM, int64_t n, int64_t k, int64_t experts, int64_t topK, DType dtype,
             const MoeCombineConfig& config = {});
  ~MoeCombine() override;
  // h: [ranks * maxM * topK, k], the rows of `route`, which the dispatch gave; w: of this rank's experts
  // [cdiv(experts, ranks), n, k]; out: [m, n], of this rank's m <= maxM tokens. Queued on `stream`.
  void run(const Tensor& h, const Tensor& w, const Tensor& route, const Tensor& out, int64_t m, int stream = 0,
           const GroupedMore& more = {}) {
    call({{h, w, route, more.bias, more.xScales, more.wScales, out}, {m}, stream});
  }

 private:
  void queue(const Call& call) override;

  int64_t rows_;  // tokens of all ranks
  std::unique_ptr<SummedProduct> product_;
};

}  // namespace tandem::ops
