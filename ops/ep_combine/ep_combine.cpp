// Host side of combine.
#include "ops/ep_combine/ep_combine.h"
#include "ops/ep_dispatch/exchange.h"

namespace tandem::ops {
namespace tables {

const Table& ep_combine() {
  static const Table table = [] {
    Table t{
        .name = "ep_combine",
        .className = "EpCombine",
        .what =
            "Sums the results of each token's slots by the weights of the route that ep_dispatch made, and sends them "
            "to the token's rank.",
        .sizes = exchangeSizes(),
        .types = summedTypes(),
        .typeWords = "fp16, bf16 or fp32",
        .tensors = {{.name = "h", .shape = {kRowsByExpert, "columns"}},
                    {.name = "route", .shape = {kRouteHere}, .always = DType::Int32},
                    {.name = "ids", .shape = {"m", "top_k"}, .always = DType::Int32},
                    placementOperand(),
                    {.name = "out", .shape = {"m", "columns"}, .isOutput = true}},
        .numbers = exchangeNumbers(),
        .options = exchangeOptions<ExchangeConfig>()};
    t.checkMore = [](const void* config) { checkPlacement("ep_combine", *static_cast<const ExchangeConfig*>(config)); };
    t.make = maker<EpCombine, ExchangeConfig, 4>(ep_combine);
    return t;
  }();
  return table;
}

}  // namespace tables

EpCombine::EpCombine(Team& team, int64_t maxM, int64_t columns, int64_t experts, int64_t topK, DType dtype,
                     const ExchangeConfig& config)
    : Operator(tables::ep_combine(), team, {maxM, columns, experts, topK}, dtype, &config),
      hasPlacement_(config.copies), align_(config.align) {
  ExchangeSizes sizes{maxM, columns, experts, topK};
  exchange_ = std::make_unique<Exchange>(table_, team, memory_, sizes, 0, dtype, 0, true, false, config);
}

EpCombine::~EpCombine() = default;

void EpCombine::queue(const Call& call) {
  const auto& t = call.tensors;
  const Tensor &h = t[0], &route = t[1], &ids = t[2], &placement = hasPlacement_ ? t[3] : ids, &out = t[4];
  exchange_->launch(kernelOf("ops/ep_combine/ep_combine.py", "combine"), {h, route, ids, placement, out, findings()},
                    {h, out}, call.numbers, call.stream, {{"PLACES", align_ > 1 ? align_ : 0}});
}

}  // namespace tandem::ops
