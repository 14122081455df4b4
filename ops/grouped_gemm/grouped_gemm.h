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
};

// out = the rows of each expert times that expert's matrix, transposed. Local to the rank; fp16, bf16 or fp32.
class TANDEM_API GroupedGemm : public Operator {
 public:
  GroupedGemm(Team& team, int64_t maxM, int64_t n, int64_t k, int64_t experts, int64_t topK, DType dtype,
              const GroupedGemmConfig& config = {});
  ~GroupedGemm() override;
  // x: [m, k], or [m * topK, k] with `sorted`; w: [experts, n, k], of twice the rows with `gated`; route: of m tokens, by
  // Route or RouteIds on this rank; out: [m * topK, n]: rows that no slot goes to are 0. Queued on `stream`.
  void run(const Tensor& x, const Tensor& w, const Tensor& route, const Tensor& out, int64_t m, int stream = 0) {
    call({{x, w, route, out}, {m}, stream});
  }

 private:
  void queue(const Call& call) override;

  std::unique_ptr<GroupedProduct> product_;
};

}  // namespace tandem::ops
