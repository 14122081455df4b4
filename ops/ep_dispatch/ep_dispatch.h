// EpDispatch.
#pragma once
#include "tandem/moe_config.h"
#include "tandem/operator.h"

namespace tandem {
class Meaning;
}

namespace tandem::ops {

class Dealer;
class DispatchMoe;
class Exchange;

struct EpDispatchConfig : ExchangeConfig {
  int blockM = 0;             // rows of a block of the route; 0 leaves the choice to the operator
  bool quantised = false;     // rows travel and come as fp8e4nv, with a scale for 128 elements
  bool byExpert = false;      // rows come once for each slot, those of an expert one behind the other
  bool symmetricOut = false;  // rows and scales are the same symmetric tensors on every rank, where rows go at once
};

// Sends each token's row once to every rank that has one of its experts, in packets: one flight. Token t of rank s is row
// s * maxM + t there. fp16, bf16 or fp32, or in fp8 with scales, which rows have or get on the way.
class TANDEM_API EpDispatch : public Operator {
 public:
  EpDispatch(Team& team, int64_t maxM, int64_t columns, int64_t experts, int64_t topK, DType dtype,
             const EpDispatchConfig& config = {});
  ~EpDispatch() override;
  // This rank's m <= maxM tokens, also none. x: [m, columns]; ids: [m, topK] i32, of all ranks' experts, -1 where a slot is
  // dropped; weights: [m, topK] fp32. rows: [ranks * maxM, columns], of which only those that came are written; route: that
  // of ranks * maxM tokens and this rank's cdiv(experts, ranks) experts; scales: with `quantised` [ranks * maxM,
  // cdiv(columns, 128)] fp32, of the rows; placement: with `copies` [placedExperts, copies] i32, the places of each expert,
  // of which rank r has those from r * cdiv(experts, ranks); xScales: of x in fp8, as `scales`. With `byExpert` rows and
  // scales have ranks * maxM * topK + align * cdiv(experts, ranks) rows, at their slots' places by the route, and spans,
  // [2, cdiv(experts, ranks)] i32, gets each expert's first row and the one behind its last. Queued on `stream`.
  void run(const Tensor& x, const Tensor& ids, const Tensor& weights, const Tensor& route, const Tensor& rows,
           int64_t m, int stream = 0, const Tensor& scales = {}, ExchangeHalf half = ExchangeHalf::Both,
           const Tensor& placement = {}, const Tensor& xScales = {}, const Tensor& spans = {}) {
    call({{x, ids, weights, placement, xScales, route, scales, spans, rows}, numbersOf(m, half), stream});
  }

 private:
  friend class DispatchMoe;

  void queue(const Call& call) override;
  // Brings rows that landed by token to their places.
  void spread(const Call& call);

  std::unique_ptr<Exchange> exchange_;
  std::unique_ptr<Dealer> dealer_;
  bool isQuantised_, hasPlacement_;
  int64_t places_;         // by expert: of what each one's rows begin at a multiple; 0: rows come by token
  bool isDirect_;          // rows go to where they belong on their ranks, into symmetric memory
  bool isCopied_ = false;  // its owner copies all of them, and it says where they go alone
  bool isInside_;          // the route is made beside the rows
  int tellers_;            // programs that move no rows
  Tensor ids_, weights_;   // of the tokens that come
  Tensor told_;            // the last call in which the host was told of a bad id, and who has met
  std::vector<std::unique_ptr<Meaning>> meanings_;  // of signals, for reports of waits
  Tensor begun_, arrived_;                          // signals of rows that go to where they belong
  Tensor routed_;                                   // how often the route was made beside the rows
  Tensor landed_, landedScales_;  // by token, of rows that come by expert where the route is a launch of its own
};

}  // namespace tandem::ops
