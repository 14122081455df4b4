// Grouped GEMM + AllReduce.
#pragma once
#include "tandem/moe_config.h"
#include "tandem/operator.h"

namespace tandem::ops {

class AllReduce;
class SlotSums;

// out = the sum over ranks and slots of h · w[e]^T, by the route's weights, on every rank: the second half of a mixture
// of experts of few tokens. fp16, bf16, fp32 or fp8e4nv with scales (what is
// summed, and out, is bf16 then); sums run in fp32, over slots, then over ranks, in their order.
class TANDEM_API MoeAr : public Operator {
 public:
  // `maxM`: tokens; `n`: columns of the result; `k`: this rank's columns of h.
  MoeAr(Team& team, int64_t maxM, int64_t n, int64_t k, int64_t experts, int64_t topK, DType dtype,
        const GroupedConfig& config = {});
  ~MoeAr() override;
  // h: [m * topK, k], the route's rows; w: [experts, n, k]; route: of all m tokens, made on this rank; out: [m, n].
  // Every rank calls with the same m <= maxM. Queued on `stream`.
  // A bias [experts, n] is the same on all ranks and counts once.
  void run(const Tensor& h, const Tensor& w, const Tensor& route, const Tensor& out, int64_t m, int stream = 0,
           const GroupedMore& more = {}) {
    call({{h, w, route, more.bias, more.xScales, more.wScales, out}, {m}, stream});
  }

 private:
  void queue(const Call& call) override;
  std::vector<Operator*> parts() const override;

  int64_t n_;
  std::unique_ptr<SlotSums> slotSums_;
  std::unique_ptr<AllReduce> reduce_;
  Tensor sums_;
};

}  // namespace tandem::ops
