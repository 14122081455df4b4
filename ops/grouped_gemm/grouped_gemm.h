// GroupedGemm.
#pragma once
#include "tandem/moe_config.h"
#include "tandem/operator.h"

namespace tandem::ops {

class GroupedProduct;

struct GroupedGemmConfig : GroupedConfig {
  bool gated = false;      // w has gate rows, then up rows; out = silu(x · gate^T) · (x · up^T)
  bool sorted = false;     // x has the route's rows, else the tokens
  bool scattered = false;  // out has the slots' rows, else the route's
  bool weighted = false;   // rows of out are multiplied with the route's weights
  bool quantised = false;  // out is fp8e4nv, with a scale for 128 columns of a row
};

// out = the rows of each expert times that expert's matrix, transposed. Local to the rank; fp16, bf16, fp32 or
// fp8e4nv with scales (out is bf16 then).
class TANDEM_API GroupedGemm : public Operator {
 public:
  GroupedGemm(Team& team, int64_t maxM, int64_t n, int64_t k, int64_t experts, int64_t topK, DType dtype,
              const GroupedGemmConfig& config = {});
  ~GroupedGemm() override;
  // x: [m, k], or [m * topK, k] with `sorted`; w: [experts, n, k], of twice the rows with `gated`; route: of m tokens, by
  // Route or RouteIds on this rank; out: [m * topK, n]: rows that no slot goes to are 0. With `quantised`
  // outScales is [m * topK, cdiv(n, 128)], fp32. Queued on `stream`.
  void run(const Tensor& x, const Tensor& w, const Tensor& route, const Tensor& out, int64_t m, int stream = 0,
           const GroupedMore& more = {}, const Tensor& outScales = {}) {
    call({{x, w, route, more.bias, more.xScales, more.wScales, outScales, out}, {m}, stream});
  }

 private:
  void queue(const Call& call) override;

  std::unique_ptr<GroupedProduct> product_;
};

}  // namespace tandem::ops
