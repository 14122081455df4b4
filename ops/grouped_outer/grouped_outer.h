// GroupedOuter.
#pragma once
#include "tandem/moe_config.h"
#include "tandem/operator.h"

namespace tandem::ops {

struct GroupedOuterConfig : GroupedConfig {
  bool weighted = false;  // rows are multiplied with the route's weights
};

// out[e] = the sum over the rows of expert e of h's row times its token's row of x: the gradient of the matrices of a
// grouped product. Local to the rank; fp16, bf16 or fp32, summed in fp32 in the rows' order.
class TANDEM_API GroupedOuter : public Operator {
 public:
  GroupedOuter(Team& team, int64_t maxM, int64_t n, int64_t k, int64_t experts, int64_t topK, DType dtype,
               const GroupedOuterConfig& config = {});
  // h: [m * topK, n], the route's rows; x: [m, k], the tokens; route: of m tokens; out: [experts, n, k]: 0 for an expert
  // without rows. Queued on `stream`.
  void run(const Tensor& h, const Tensor& x, const Tensor& route, const Tensor& out, int64_t m, int stream = 0) {
    call({{h, x, route, out}, {m}, stream});
  }

 private:
  void queue(const Call& call) override;

  int64_t n_, k_, experts_, topK_;
  GroupedOuterConfig config_;
};

}  // namespace tandem::ops
