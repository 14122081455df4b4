// Dispatch + grouped GEMM.
#pragma once
#include "tandem/moe_config.h"
#include "tandem/operator.h"

namespace tandem::ops {

class EpDispatch;
class GatheredProduct;

struct DispatchMoeConfig : GroupedConfig {
  bool gated = false, quantised = false;  // as in AgMoeConfig
  int ordered = -1;
  int placedExperts = 0, copies = 0;  // as in ExchangeConfig
};

// out = the rows of each of this rank's experts, of all ranks' tokens, times that expert's matrix: the first half of a
// mixture of experts of which each rank has some, whole. fp16, bf16, fp32 or fp8e4nv with scales (out is bf16 then).
class TANDEM_API DispatchMoe : public Operator {
 public:
  // `maxM`: the most tokens of a rank; `n`: columns of the result; `k`: columns of x; `experts`: of all ranks.
  DispatchMoe(Team& team, int64_t maxM, int64_t n, int64_t k, int64_t experts, int64_t topK, DType dtype,
              const DispatchMoeConfig& config = {});
  ~DispatchMoe() override;
  // This rank's m <= maxM tokens, also none. x: [m, k]; ids, weights and placement as EpDispatch takes them; w: of this
  // rank's cdiv(experts, ranks) experts [those, n, k], of twice the rows with `gated`; route: as EpDispatch gives it; out:
  // [ranks * maxM * topK, n], the route's rows, of which those behind its last are not written. Queued on `stream`; work
  // queued behind it may overwrite x.
  void run(const Tensor& x, const Tensor& ids, const Tensor& weights, const Tensor& w, const Tensor& route,
           const Tensor& out, int64_t m, int stream = 0, const GroupedMore& more = {}, const Tensor& placement = {},
           const Tensor& outScales = {}) {
    call({{x, ids, weights, w, placement, more.bias, more.xScales, more.wScales, route, outScales, out}, {m}, stream});
  }

 private:
  void queue(const Call& call) override;
  std::vector<Operator*> parts() const override;

  int64_t rows_;  // tokens of all ranks
  std::unique_ptr<EpDispatch> dispatch_;
  std::unique_ptr<GatheredProduct> product_;
};

}  // namespace tandem::ops
