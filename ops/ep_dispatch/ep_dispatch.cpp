// Host side of dispatch: the kernel that sends and receives, and a route of what came.
#include "ops/ep_dispatch/ep_dispatch.h"
#include "ops/findings.h"
#include "ops/cdiv.h"
#include "ops/ep_dispatch/exchange.h"
#include "ops/packets/packets.h"
#include "ops/route/dealer.h"
#include <algorithm>

namespace tandem::ops {
namespace {

// Programs that store this rank's own rows while the others send. Where rows are quantised on the way all do both, as each
// would quantise them, and where programs are few, as fewer of them cannot send as much.
constexpr int kMostOwners = 16, kSome = 16;

int owners(const Team& team, int programs, bool quantises) {
  bool areFew = team.target() != "sim" && programs < kSome;
  return quantises || areFew || team.size() == 1 ? 0 : std::min(programs / team.size(), kMostOwners);
}

// Programs for a user's `given`: up to twice kSome send no more than so many do (docs/performance/ep.md).
int programsFor(const Team& team, int given, bool quantises) {
  bool sendsApart = team.target() != "sim" && !quantises && team.size() > 1;
  return sendsApart && given > kSome && given <= 2 * kSome ? kSome : given;
}

}  // namespace

namespace tables {

// By token, or with `by_expert` as kRowsByExpert.
constexpr const char* kRowsThatCome =
    "ranks*max_m + -1*by_expert*ranks*max_m + by_expert*ranks*max_m*top_k + by_expert*align*shard(experts)";

const Table& ep_dispatch() {
  using Config = EpDispatchConfig;
  static const Table table = [] {
    Table t{
        .name = "ep_dispatch",
        .className = "EpDispatch",
        .what =
            "Sends each token's row once to every rank that has one of its experts: token t of rank s becomes row "
            "s * max_m + t, of which the route says what the rank's experts do with it.",
        .sizes = exchangeSizes(),
        .types = {DType::Float16, DType::BFloat16, DType::Float32, DType::Float8E4NV},
        .typeWords = "fp16, bf16, fp32 or fp8e4nv",
        .tensors = {{.name = "x", .shape = {"m", "columns"}},
                    {.name = "ids", .shape = {"m", "top_k"}, .always = DType::Int32},
                    {.name = "weights", .shape = {"m", "top_k"}, .always = DType::Float32},
                    placementOperand(),
                    {.name = "x_scales", .shape = {"m", "scales(columns)"}, .always = DType::Float32, .givenBy = "fp8"},
                    {.name = "route", .shape = {kRouteHere}, .isOutput = true, .always = DType::Int32},
                    {.name = "out_scales",
                     .shape = {kRowsThatCome, "scales(columns)"},
                     .isOutput = true,
                     .always = DType::Float32,
                     .givenBy = "quantised"},
                    {.name = "spans",
                     .shape = {"2", "shard(experts)"},
                     .isOutput = true,
                     .always = DType::Int32,
                     .givenBy = "by_expert"},
                    {.name = "out", .shape = {kRowsThatCome, "columns"}, .isOutput = true, .quantisedBy = "quantised"}},
        .numbers = exchangeNumbers(),
        .options = exchangeOptions<Config>()};
    Option rows = option<Config>("block_m", &Config::blockM, "rows of a block, the same in what takes the route");
    rows.kind = Option::Kind::Tile;
    t.options.push_back(rows);
    t.options.push_back(option<Config>("quantised", &Config::quantised,
                                       "rows travel and come as fp8e4nv, with a scale for each 128 elements of a row",
                                       0, 1));
    t.options.push_back(option<Config>("by_expert", &Config::byExpert,
                                       "rows come once for each slot, those of an expert one behind the other", 0, 1));
    t.options.push_back(option<Config>("symmetric_out", &Config::symmetricOut,
                                       "`out` and `out_scales` are the same symmetric tensors on every rank", 0, 1));
    t.checkMore = [](const void* config) {
      const Config& given = *static_cast<const Config*>(config);
      checkPlacement("ep_dispatch", given);
      if (given.symmetricOut && given.mode == ExchangeMode::Latency)
        throw Error("`ep_dispatch`: `symmetric_out` goes with mode throughput, not with latency");
      if (given.symmetricOut && given.byExpert)
        throw Error("`ep_dispatch`: `symmetric_out` goes with rows by token, not with `by_expert`");
      if (given.align && !given.byExpert) throw Error("`ep_dispatch`: `align` goes with `by_expert`");
    };
    t.make = maker<EpDispatch, Config, 4>(ep_dispatch);
    return t;
  }();
  return table;
}

}  // namespace tables

EpDispatch::EpDispatch(Team& team, int64_t maxM, int64_t columns, int64_t experts, int64_t topK, DType dtype,
                       const EpDispatchConfig& config)
    : Operator(tables::ep_dispatch(), team, {maxM, columns, experts, topK}, dtype, &config),
      isQuantised_(config.quantised), hasPlacement_(config.copies),
      places_(config.byExpert ? std::max(config.align, 1) : 0) {
  if (isFp8(dtype) && !isQuantised_)
    throw Error("`ep_dispatch`: rows of " + std::string(name(dtype)) +
                " travel with their scales, so `quantised` is needed");
  ExchangeSizes sizes{maxM, columns, experts, topK};
  ExchangeConfig chosen = config;
  if (config.symmetricOut) chosen.mode = ExchangeMode::Throughput;
  DType travelling = isQuantised_ ? DType::Float8E4NV : dtype;
  isDirect_ = config.symmetricOut || (config.byExpert && isThroughput(chosen, maxM));
  if (isDirect_) chosen.programs = programsFor(team, chosen.programs, isQuantised_ && !isFp8(dtype));
  checkExperts(table_, experts, topK, team.size());
  int64_t tokens = team.size() * maxM;
  dealer_ = std::make_unique<Dealer>(team, memory_, tokens, cdiv(experts, team.size()), topK, 0,
                                     DealConfig{.blockM = config.blockM});
  Dealer::Inside inside = dealer_->inside(tokens);
  tellers_ = inside.programs;
  exchange_ =
      std::make_unique<Exchange>(table_, team, memory_, sizes, topK, travelling, tellers_, 0, isDirect_, chosen);
  if (isDirect_) {
    begun_ = memory_.symmetricZeros({team.size()}, DType::Int64, "begun");
    arrived_ = memory_.symmetricZeros({exchange_->programs(), team.size()}, DType::Int64, "arrived");
    for (auto [signals, what] : {std::pair(&begun_, "the beginning of the call on "), {&arrived_, "the rows from "}})
      meanings_.push_back(
          std::make_unique<Meaning>(signals->address, signals->bytes(), "ep_dispatch",
                                    onTeam(team, [what, sizes, ranks = int64_t(team.size())](uint64_t offset) {
                                      return what + ownerOf(sizes, ranks, int64_t(offset / sizeof(int64_t)) % ranks);
                                    })));
  }
  ids_ = memory_.localZeros({tokens, topK}, DType::Int32, "ids");
  weights_ = memory_.localZeros({tokens, topK}, DType::Float32, "weights");
  told_ = memory_.localZeros({2}, DType::Int64, "told");
  isInside_ = !exchange_->isBeside() && inside.deals;
  if (!places_) return;
  if (isInside_) {
    routed_ = memory_.symmetricZeros({1}, DType::Int64, "routed");
    return;
  }
  auto landing = [&](int64_t width, DType of, const std::string& name) {
    return isDirect_ ? memory_.symmetricEmpty({tokens, width}, of, name)
                     : memory_.localZeros({tokens, width}, of, name);
  };
  landed_ = landing(columns, travelling, "landed");
  if (isQuantised_) landedScales_ = landing(cdiv(columns, kScaled), DType::Float32, "landed scales");
}

EpDispatch::~EpDispatch() = default;

void EpDispatch::queue(const Call& call) {
  const auto& t = call.tensors;
  int64_t tokens = exchange_->tokens();
  Constants constants = dealer_->constantsInside(tokens);
  constants["ROUTES"] = isInside_;
  constants["QUANTISED"] = isQuantised_;
  constants["TELLERS"] = int64_t(tellers_);
  bool spreads = places_ && !isInside_;
  if (!spreads) constants["PLACES"] = places_;
  constants["DIRECT"] = isDirect_;
  constants["COPIED"] = isCopied_;
  if (isDirect_) constants["OWNERS"] = int64_t(owners(team_, exchange_->programs(), isQuantised_ && !isFp8(dtype_)));
  const Tensor &x = t[0], &ids = t[1], &weights = t[2], &route = t[5], &rows = spreads ? landed_ : t[8];
  const Tensor &placement = hasPlacement_ ? t[3] : ids, &xScales = isFp8(dtype_) ? t[4] : weights;
  const Tensor& scales = !isQuantised_ ? weights_ : spreads ? landedScales_ : t[6];
  const Tensor &spans = places_ ? t[7] : ids_, &routed = routed_.address ? routed_ : told_;
  if (isDirect_) team_.peer(rows, 0);  // throws where it is not symmetric
  exchange_->launch(kernelOf("ops/ep_dispatch/ep_dispatch.py", "dispatch"),
                    {x, xScales, ids, placement, weights, rows, scales, ids_, weights_, route, spans, routed,
                     findings(), told_, dealer_->counts(), isDirect_ ? begun_ : told_, isDirect_ ? arrived_ : told_},
                    {x, rows}, call.numbers, call.stream, constants);
  if (isInside_ || call.numbers[1]) return;
  dealer_->launch({weights_, weights_, ids_, weights_, spans}, route, tokens, call.stream, {{"PLACES", places_}});
  if (spreads) spread(call);
}

void EpDispatch::spread(const Call& call) {
  const auto& t = call.tensors;
  const Tensor &route = t[5], &rows = t[8], &scales = isQuantised_ ? t[6] : weights_;
  int64_t tokens = exchange_->tokens(), columns = landed_.shape[1], shares = exchange_->shares();
  int64_t elements = elementsOfPacket(landed_.dtype);
  int warps = exchange_->numWarps();
  int programs = int(std::min<int64_t>(cdiv(tokens * shares, warps), 2 * team_.residentPrograms()));
  team_.launch(kernelOf("ops/ep_dispatch/landed.py", "spread"),
               {.grid = {programs, 1, 1}, .numWarps = warps, .stream = call.stream},
               {landed_, isQuantised_ ? landedScales_ : weights_, route, rows, scales, tokens, columns,
                exchange_->localExperts(), shares},
               {{"TOP_K", ids_.shape[1]},
                {"ELEMENTS", elements},
                {"PIECES", exchange_->pieces()},
                {"ALIGNED", columns % elements == 0 && rows.address % kPacketBytes == 0},
                {"QUANTISED", isQuantised_}});
}

}  // namespace tandem::ops
