// Host side of dispatch + grouped GEMM. Copy engines bring each rank's tokens to the others while a kernel tells of their
// experts and the route is made of that; the product, whose first blocks are of the own tokens, waits for the others' itself.
#include "ops/dispatch_moe/dispatch_moe.h"
#include "ops/ag_moe/gathered_product.h"
#include "ops/cdiv.h"
#include "ops/ep_dispatch/ep_dispatch.h"
#include "ops/ep_dispatch/exchange.h"

namespace tandem::ops {
namespace tables {

const Table& dispatch_moe() {
  using Config = DispatchMoeConfig;
  static const Table table = [] {
    Table t{.name = "dispatch_moe",
            .className = "DispatchMoe",
            .what = "out = the rows of each of this rank's experts, of all ranks' tokens, times that expert's w[e]^T.",
            .sizes = expertSizes(),
            .types = groupedTypes(),
            .typeWords = kGroupedTypes,
            .tensors = {{.name = "x", .shape = {"m", "k"}},
                        {.name = "ids", .shape = {"m", "top_k"}, .always = DType::Int32},
                        {.name = "weights", .shape = {"m", "top_k"}, .always = DType::Float32},
                        {.name = "w", .shape = {"shard(experts)", "n + gated*n", "k"}},
                        placementOperand(),
                        ofOwnExperts(biasOperand("bias", "n", true)),
                        scalesOperand("x_scales", {"m", "scales(k)"}),
                        scalesOperand("w_scales", {"shard(experts)", "scales(n) + gated*scales(n)", "scales(k)"}),
                        {.name = "route", .shape = {kRouteHere}, .isOutput = true, .always = DType::Int32},
                        {.name = "out_scales",
                         .shape = {kRowsOfSlots, "scales(n)"},
                         .isOutput = true,
                         .always = DType::Float32,
                         .givenBy = "quantised"},
                        {.name = "out",
                         .shape = {kRowsOfSlots, "n"},
                         .isOutput = true,
                         .ofFp8 = DType::BFloat16,
                         .quantisedBy = "quantised"}},
            .numbers = {{"m", Number::Kind::OwnRows, "this rank's tokens"}},
            .options = groupedOptions<Config>()};
    t.options.push_back(option<Config>("gated", &Config::gated, "w has gate rows, then up rows; SwiGLU of both", 0, 1));
    t.options.push_back(quantisedOption<Config>(&Config::quantised));
    t.options.push_back(option<Config>("ordered", &Config::ordered,
                                       "1: rows are copied into the route's order, then multiplied", 0, 1, -1));
    t.options.push_back(sharedOption<Config>());
    t.options.push_back(
        option<Config>("placed_experts", &Config::placedExperts, "that ids name, where `placement` says their places"));
    t.options.push_back(option<Config>("copies", &Config::copies, "places of an expert in `placement`"));
    t.make = maker<DispatchMoe, Config, 5>(dispatch_moe);
    return t;
  }();
  return table;
}

}  // namespace tables

DispatchMoe::DispatchMoe(Team& team, int64_t maxM, int64_t n, int64_t k, int64_t experts, int64_t topK, DType dtype,
                         const DispatchMoeConfig& config)
    : Operator(tables::dispatch_moe(), team, {maxM, n, k, experts, topK}, dtype, &config), rows_(team.size() * maxM) {
  checkExperts(table_, experts, topK, team.size());
  EpDispatchConfig way;
  way.symmetricOut = true;
  way.quantised = isFp8(dtype);
  way.blockM = config.blockM;
  way.placedExperts = config.placedExperts;
  way.copies = config.copies;
  dispatch_ = std::make_unique<EpDispatch>(team, maxM, k, experts, topK, dtype, way);
  dispatch_->isCopied_ = team.size() > 1;
  AgMoeConfig up;
  static_cast<GroupedConfig&>(up) = config;
  up.gated = config.gated;
  up.quantised = config.quantised;
  up.ordered = config.ordered;
  product_ = std::make_unique<GatheredProduct>(table_, team, memory_, rows_, n, k, cdiv(experts, team.size()), topK,
                                               dtype, up, findings(), true);
}

DispatchMoe::~DispatchMoe() = default;

std::vector<Operator*> DispatchMoe::parts() const { return {dispatch_.get()}; }

void DispatchMoe::queue(const Call& call) {
  const auto& t = call.tensors;
  const Tensor &route = t[8], &gathered = product_->gathered(), &scales = product_->gatheredScales();
  int stream = call.stream;
  bool isAlone = team_.size() == 1;
  product_->push(t[0], t[6], rows_, stream);
  dispatch_->run(t[0], t[1], t[2], route, gathered, call.numbers[0], stream, scales, ExchangeHalf::Both, t[4], t[6]);
  GroupedProduct::More more{{t[5], isAlone ? scales : t[6], t[7]}, t[9]};
  product_->launch(isAlone ? gathered : t[0], t[3], t[10], route, rows_, stream, more, false);
}

}  // namespace tandem::ops
