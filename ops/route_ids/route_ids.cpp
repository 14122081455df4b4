// Host side of routing by given ids.
#include "ops/route_ids/route_ids.h"
#include "ops/route/dealer.h"

namespace tandem::ops {
namespace tables {

const Table& route_ids() {
  static const Table table = [] {
    Table t{.name = "route_ids",
            .className = "RouteIds",
            .what = "Says where the rows of m tokens go, each of which has its top_k experts' ids, or -1.",
            .sizes = {{"max_m", "the most tokens"}, {"experts", "to choose from"}, {"top_k", "experts of a token"}},
            .types = {DType::Int32, DType::Int64},
            .typeWords = "i32 or i64",
            .tensors = {{.name = "ids", .shape = {"m", "top_k"}},
                        {.name = "weights", .shape = {"m", "top_k"}, .always = DType::Float32},
                        {.name = "out", .shape = {kRouteWords}, .isOutput = true, .always = DType::Int32}},
            .numbers = {{"m", Number::Kind::Rows, "tokens, of all ranks"}},
            .options = dealOptions<DealConfig>()};
    t.isLocal = true;
    t.make = maker<RouteIds, DealConfig, 3>(route_ids);
    return t;
  }();
  return table;
}

}  // namespace tables

RouteIds::RouteIds(Team& team, int64_t maxM, int64_t experts, int64_t topK, DType dtype, const DealConfig& config)
    : Operator(tables::route_ids(), team, {maxM, experts, topK}, dtype, &config) {
  checkExperts(table_, experts, topK);
  dealer_ = std::make_unique<Dealer>(team, memory_, maxM, experts, topK, 0, config, findings());
}

RouteIds::~RouteIds() = default;

void RouteIds::queue(const Call& call) {
  const Tensor &ids = call.tensors[0], &weights = call.tensors[1];
  dealer_->launch({weights, weights, ids, weights}, call.tensors[2], call.numbers[0], call.stream, {});
}

}  // namespace tandem::ops
