// RouteRanks.
#pragma once
#include "tandem/operator.h"

namespace tandem::ops {

// 0 leaves the choice to the operator.
struct RouteRanksConfig {
  int programs = 0;  // at most
};

// Says of a route which of `destinations` ranks each token goes to, once for each, with its slots there: rank r has the
// experts from r · ⌈experts / destinations⌉ on. Local to the rank. The type is i32.
class TANDEM_API RouteRanks : public Operator {
 public:
  RouteRanks(Team& team, int64_t maxM, int64_t experts, int64_t topK, int64_t destinations, DType dtype,
             const RouteRanksConfig& config = {});
  // route: of m tokens, made on this rank; offsets: [destinations + 1], of each rank's tokens in the lists; slots and tokens:
  // [m * topK], bits of a token's slots that go to the rank, and the token, in their order; behind the last 0 and -1. Queued
  // on `stream`.
  void run(const Tensor& route, const Tensor& offsets, const Tensor& slots, const Tensor& tokens, int64_t m,
           int stream = 0) {
    call({{route, offsets, slots, tokens}, {m}, stream});
  }

 private:
  void queue(const Call& call) override;

  int64_t experts_, topK_, destinations_;
  RouteRanksConfig config_;
  Tensor counts_;
};

}  // namespace tandem::ops
