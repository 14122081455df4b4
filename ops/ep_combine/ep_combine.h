// EpCombine.
#pragma once
#include "tandem/moe_config.h"
#include "tandem/operator.h"

namespace tandem::ops {

class Exchange;

struct EpCombineConfig : ExchangeConfig {
  bool summed = false;  // h has the sum of each token's slots here, already weighed, where its dispatched row stands
};

// The way back of EpDispatch: sums the results of each token's slots on one rank in fp32, by the route's weights, and sends
// the sum to the token's rank, which adds in rank order: one flight. The same bits in every run. fp16, bf16 or fp32.
class TANDEM_API EpCombine : public Operator {
 public:
  EpCombine(Team& team, int64_t maxM, int64_t columns, int64_t experts, int64_t topK, DType dtype,
            const EpCombineConfig& config = {});
  ~EpCombine() override;
  // h: [ranks * maxM * topK, columns], rows in the order of `route`, which EpDispatch made; with `summed` [ranks * maxM,
  // columns], of which only rows of tokens that came are read; ids as they were dispatched; and `placement`; out: [m,
  // columns], of this rank's tokens. Queued on `stream`.
  void run(const Tensor& h, const Tensor& route, const Tensor& ids, const Tensor& out, int64_t m, int stream = 0,
           ExchangeHalf half = ExchangeHalf::Both, const Tensor& placement = {}) {
    call({{h, route, ids, placement, out}, numbersOf(m, half), stream});
  }

 private:
  void queue(const Call& call) override;

  bool hasPlacement_;
  int64_t places_;  // what the route must have as its ALIGN; -1: anything
  bool isSummed_;
  std::unique_ptr<Exchange> exchange_;
};

}  // namespace tandem::ops
