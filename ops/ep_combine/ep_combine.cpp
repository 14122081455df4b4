// Host side of combine.
#include "ops/ep_combine/ep_combine.h"
#include "ops/ep_dispatch/exchange.h"
#include "ops/packets/packets.h"
#include <algorithm>

namespace tandem::ops {
namespace {

// Shared memory for the rows that bulk copies bring, of a program's warps. Each has up to so many items under way.
constexpr int64_t kRingBytes = 192 << 10, kAhead = 4, kLanes = 32;

// Rows that a warp has room for, where a token has up to `most`; 0 if they are to come into registers, as few are there before
// copies ahead of them would be, and of one row for each token registers have enough under way.
int64_t ringRows(const Team& team, const Exchange& exchange, int64_t most) {
  if (!exchange.isBeside() || (most == 1 && team.target() != "sim")) return 0;
  if (team.target() == "sim") return most + 1;
  int64_t rows = kRingBytes / (exchange.numWarps() * exchange.pieces() * kLanes * kPacketBytes);
  return rows > most ? std::min(rows, kAhead * most) : 0;
}

}  // namespace

namespace tables {

// By slot as kRowsByExpert, or with `summed` by token.
constexpr const char* kRowsOfResults =
    "ranks*max_m*top_k + align*shard(experts) + -1*summed*ranks*max_m*top_k + summed*ranks*max_m";

const Table& ep_combine() {
  using Config = EpCombineConfig;
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
        .tensors = {{.name = "h", .shape = {kRowsOfResults, "columns"}},
                    {.name = "route", .shape = {kRouteHere}, .always = DType::Int32},
                    {.name = "ids", .shape = {"m", "top_k"}, .always = DType::Int32},
                    placementOperand(),
                    {.name = "out", .shape = {"m", "columns"}, .isOutput = true}},
        .numbers = exchangeNumbers(),
        .options = exchangeOptions<Config>()};
    t.options.push_back(option<Config>("summed", &Config::summed,
                                       "h has one row for each token that came, the sum of its slots here, which are "
                                       "weighed already, where its dispatched row stands",
                                       0, 1));
    t.checkMore = [](const void* config) {
      const Config& given = *static_cast<const Config*>(config);
      checkPlacement("ep_combine", given);
      if (given.summed && given.align) throw Error("`ep_combine`: `align` goes with rows by expert, not with `summed`");
    };
    t.make = maker<EpCombine, Config, 4>(ep_combine);
    return t;
  }();
  return table;
}

}  // namespace tables

EpCombine::EpCombine(Team& team, int64_t maxM, int64_t columns, int64_t experts, int64_t topK, DType dtype,
                     const EpCombineConfig& config)
    : Operator(tables::ep_combine(), team, {maxM, columns, experts, topK}, dtype, &config),
      hasPlacement_(config.copies), places_(config.align > 1 ? config.align : 0), isSummed_(config.summed) {
  if (isSummed_) places_ = -1;
  ExchangeSizes sizes{maxM, columns, experts, topK};
  int64_t results = isSummed_ ? 1 : topK;
  exchange_ = std::make_unique<Exchange>(table_, team, memory_, sizes, 0, dtype, 0, results, false, config);
}

EpCombine::~EpCombine() = default;

void EpCombine::queue(const Call& call) {
  const auto& t = call.tensors;
  const Tensor &h = t[0], &route = t[1], &ids = t[2], &placement = hasPlacement_ ? t[3] : ids, &out = t[4];
  int64_t ring = ringRows(team_, *exchange_, isSummed_ ? 1 : ids.shape[1]);
  exchange_->launch(kernelOf("ops/ep_combine/ep_combine.py", "combine"), {h, route, ids, placement, out, findings()},
                    {h, out}, call.numbers, call.stream, {{"PLACES", places_}, {"SUMMED", isSummed_}, {"RING", ring}});
}

}  // namespace tandem::ops
