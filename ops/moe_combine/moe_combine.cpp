// Host side of grouped GEMM + combine.
#include "ops/moe_combine/moe_combine.h"
#include "ops/cdiv.h"
#include "ops/ep_dispatch/exchange.h"
#include "ops/moe_rs/summed_product.h"

namespace tandem::ops {
namespace tables {

const Table& moe_combine() {
  static const Table table = [] {
    Table t{.name = "moe_combine",
            .className = "MoeCombine",
            .what =
                "out = for each of this rank's tokens the sum over its slots of h @ w[e]^T, whichever rank has the "
                "expert, by the route's weights.",
            .sizes = expertSizes(),
            .types = groupedTypes(),
            .typeWords = kGroupedTypes,
            .tensors = {{.name = "h", .shape = {kRowsOfSlots, "k"}},
                        {.name = "w", .shape = {"shard(experts)", "n", "k"}},
                        {.name = "route", .shape = {kRouteHere}, .always = DType::Int32},
                        ofOwnExperts(biasOperand("bias", "n", false)),
                        scalesOperand("h_scales", {kRowsOfSlots, "scales(k)"}),
                        scalesOperand("w_scales", {"shard(experts)", "scales(n)", "scales(k)"}),
                        {.name = "out", .shape = {"m", "n"}, .isOutput = true, .ofFp8 = DType::BFloat16}},
            .numbers = {{"m", Number::Kind::OwnRows, "this rank's tokens"}},
            .options = groupedOptions<MoeCombineConfig>()};
    t.options.push_back(sharedOption<MoeCombineConfig>());
    addSumsOptions<MoeCombineConfig>(t.options);
    t.make = maker<MoeCombine, MoeCombineConfig, 5>(moe_combine);
    return t;
  }();
  return table;
}

}  // namespace tables

MoeCombine::MoeCombine(Team& team, int64_t maxM, int64_t n, int64_t k, int64_t experts, int64_t topK, DType dtype,
                       const MoeCombineConfig& config)
    : Operator(tables::moe_combine(), team, {maxM, n, k, experts, topK}, dtype, &config), rows_(team.size() * maxM) {
  checkExperts(table_, experts, topK, team.size());
  product_ = std::make_unique<SummedProduct>(table_, team, memory_, rows_, n, k, cdiv(experts, team.size()), topK,
                                             dtype, config, config.parts, config.slotColumns, findings(), true);
}

MoeCombine::~MoeCombine() = default;

void MoeCombine::queue(const Call& call) {
  const auto& t = call.tensors;
  product_->launch(t[0], t[1], t[2], t[6], rows_, call.stream, {{t[3], t[4], t[5]}, {}});
}

}  // namespace tandem::ops
