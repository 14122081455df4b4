// Route.
#pragma once
#include "tandem/moe_config.h"
#include "tandem/operator.h"

namespace tandem::ops {

class Dealer;

enum class RouteScore : uint8_t { Softmax, Sigmoid };

struct RouteConfig : DealConfig {
  RouteScore score = RouteScore::Softmax;
  // Experts are chosen from `topGroups` of `groups` equal groups, those whose best two scores have the largest sums.
  int groups = 1, topGroups = 1;
  bool renormalise = false;  // a token's weights sum to 1
  double scale = 0;          // all weights are multiplied with this, behind `renormalise`; 0: with 1
  // The last experts, which every token has besides those chosen, in its last slots, with weight 1.
  int sharedExperts = 0;
  bool withIds = false;  // the ids are a result, too
};

// Chooses top_k experts for each token by its logits and says where its rows go (ops/route/README.md). Local to the
// rank; ranks that gather tokens (AgMoe) all route all tokens. One launch, the same bits in every run. logits: fp16, bf16
// or fp32.
class TANDEM_API Route : public Operator {
 public:
  Route(Team& team, int64_t maxM, int64_t experts, int64_t topK, DType dtype, const RouteConfig& config = {});
  ~Route() override;
  // logits: [m, experts - sharedExperts], bias: [experts - sharedExperts] fp32, added to the scores for the choice alone;
  // route: the words of ops/route/README.md, i32; with `withIds` ids: [m, topK], i32. Every rank calls with the same m <=
  // maxM. Queued on `stream`.
  void run(const Tensor& logits, const Tensor& bias, const Tensor& route, int64_t m, int stream = 0,
           const Tensor& ids = {}) {
    call({{logits, bias, ids, route}, {m}, stream});
  }

 private:
  void queue(const Call& call) override;

  RouteConfig config_;
  std::unique_ptr<Dealer> dealer_;
};

}  // namespace tandem::ops
