// Host side of routing by scores.
#include "ops/route/route.h"
#include "ops/route/dealer.h"

namespace tandem::ops {
namespace tables {

const Table& route() {
  static const Table table = [] {
    Table t{
        .name = "route",
        .className = "Route",
        .what = "Chooses top_k experts for each of m tokens by their logits, and says where each one's rows go.",
        .sizes = {{"max_m", "the most tokens"},
                  {"experts", "to choose from, and shared ones"},
                  {"top_k", "experts of a token, with the shared ones"}},
        .types = summedTypes(),
        .typeWords = "fp16, bf16 or fp32",
        .tensors =
            {{.name = "logits", .shape = {"m", "experts + -1*shared_experts"}},
             {.name = "bias", .shape = {"experts + -1*shared_experts"}, .always = DType::Float32},
             {.name = "ids", .shape = {"m", "top_k"}, .isOutput = true, .always = DType::Int32, .givenBy = "with_ids"},
             {.name = "out", .shape = {kRouteWords}, .isOutput = true, .always = DType::Int32}},
        .numbers = {{"m", Number::Kind::Rows, "tokens, of all ranks"}},
        .options = dealOptions<RouteConfig>()};
    Option score =
        option<RouteConfig>("score", &RouteConfig::score, "of a logit: softmax over the experts, or sigmoid");
    score.kind = Option::Kind::Word;
    score.least = 0;
    score.words = {"softmax", "sigmoid"};
    t.options.push_back(score);
    t.options.push_back(option<RouteConfig>("groups", &RouteConfig::groups, "equal groups of experts", 1, kNoLimit, 1));
    t.options.push_back(
        option<RouteConfig>("top_groups", &RouteConfig::topGroups, "that a token may choose from", 1, kNoLimit, 1));
    t.options.push_back(
        option<RouteConfig>("renormalise", &RouteConfig::renormalise, "a token's weights sum to 1", 0, 1));
    t.options.push_back(realOption<RouteConfig>("scale", &RouteConfig::scale, "of the weights, in the end; else 1"));
    t.options.push_back(option<RouteConfig>("shared_experts", &RouteConfig::sharedExperts,
                                            "the last experts, which every token has besides those chosen", 0,
                                            kMostTopK));
    t.options.push_back(option<RouteConfig>("with_ids", &RouteConfig::withIds, "the ids are a result, too", 0, 1));
    t.isLocal = true;
    t.make = maker<Route, RouteConfig, 3>(route);
    return t;
  }();
  return table;
}

}  // namespace tables

Route::Route(Team& team, int64_t maxM, int64_t experts, int64_t topK, DType dtype, const RouteConfig& config)
    : Operator(tables::route(), team, {maxM, experts, topK}, dtype, &config), config_(config) {
  checkExperts(table_, experts, topK);
  auto fail = [&](const std::string& what) { throw Error("`route`: " + what); };
  if (config.sharedExperts >= topK)
    fail("`shared_experts` is " + std::to_string(config.sharedExperts) + ", with `top_k` " + std::to_string(topK) +
         " at most " + std::to_string(topK - 1) + " are possible");
  dealer_ =
      std::make_unique<Dealer>(team, memory_, maxM, experts, topK, experts - config.sharedExperts, config, findings());
  experts -= config.sharedExperts;
  topK -= config.sharedExperts;
  std::string groups = std::to_string(config.groups);
  if (experts % config.groups)
    fail("`groups` is " + groups + ", which does not divide " + std::to_string(experts) + " experts");
  if (config.topGroups > config.groups)
    fail("`top_groups` is " + std::to_string(config.topGroups) + ", 1 to " + groups + " are possible");
  if (int64_t most = experts / config.groups * config.topGroups; topK > most)
    fail("`top_k` is " + std::to_string(topK) + ", but " + std::to_string(config.topGroups) + " of " + groups +
         " groups have " + std::to_string(most) + " experts");
  if (config.topGroups < config.groups &&
      (experts & (experts - 1) || config.groups & (config.groups - 1) || experts / config.groups < 2))
    fail("`groups` is " + groups + " of " + std::to_string(experts) +
         " experts; both must be powers of two, with two experts a group at least");
}

Route::~Route() = default;

void Route::queue(const Call& call) {
  const Tensor &logits = call.tensors[0], &bias = call.tensors[1], &ids = call.tensors[2], &out = call.tensors[3];
  dealer_->launch({logits, bias, ids.address ? ids : dealer_->ids(), bias}, out, call.numbers[0], call.stream,
                  {{"SIGMOID", config_.score == RouteScore::Sigmoid},
                   {"GROUPS", int64_t(config_.groups)},
                   {"TOP_GROUPS", int64_t(config_.topGroups)},
                   {"RENORMALISE", config_.renormalise},
                   {"SCALE", config_.scale > 0 ? config_.scale : 1.0},
                   {"SHARED", int64_t(config_.sharedExperts)}});
}

}  // namespace tandem::ops
