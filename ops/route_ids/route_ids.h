// RouteIds.
#pragma once
#include "tandem/moe_config.h"
#include "tandem/operator.h"

namespace tandem::ops {

class Dealer;

// RouteIds does as Route with experts that are given: it says where the rows of each one go. The type is that of the
// ids, i32 or i64.
class TANDEM_API RouteIds : public Operator {
 public:
  RouteIds(Team& team, int64_t maxM, int64_t experts, int64_t topK, DType dtype, const DealConfig& config = {});
  ~RouteIds() override;
  // ids: [m, topK], -1 where a slot is dropped; weights: [m, topK] fp32; route: as Route's. Ids that are no expert's
  // are dropped and counted in the route. Every rank calls with the same m <= maxM. Queued on `stream`.
  void run(const Tensor& ids, const Tensor& weights, const Tensor& route, int64_t m, int stream = 0) {
    call({{ids, weights, route}, {m}, stream});
  }

 private:
  void queue(const Call& call) override;

  std::unique_ptr<Dealer> dealer_;
};

}  // namespace tandem::ops
