// Host side of the list of each rank's tokens.
#include "ops/route_ranks/route_ranks.h"
#include "ops/cdiv.h"
#include "ops/kernel_text.h"
#include "ops/route/blocks.h"
#include <algorithm>
#include <bit>

namespace tandem::ops {
namespace {

constexpr int64_t kMostDestinations = 1024;
constexpr int64_t kMarks = 1024;                       // tokens times ranks that a program has at once
constexpr int64_t kAlone = 512, kSimulatedAlone = 32;  // tokens that one program takes without others

}  // namespace

namespace tables {

const Table& route_ranks() {
  static const Table table = [] {
    Table t{.name = "route_ranks",
            .className = "RouteRanks",
            .what =
                "Says of a route which of `destinations` ranks, that have equal parts of the experts, each token goes "
                "to, once for each, with its slots there.",
            .sizes = {{"max_m", "the most tokens"},
                      {"experts", "of the route"},
                      {"top_k", "experts of a token"},
                      {"destinations", "ranks that have the experts"}},
            .types = {DType::Int32},
            .typeWords = "i32",
            .tensors = {{.name = "route", .shape = {kRouteWords}},
                        {.name = "offsets", .shape = {"destinations + 1"}, .isOutput = true},
                        {.name = "slots", .shape = {"m*top_k"}, .isOutput = true},
                        {.name = "out", .shape = {"m*top_k"}, .isOutput = true}},
            .numbers = {{"m", Number::Kind::Rows, "tokens, of all ranks"}},
            .options = {option<RouteRanksConfig>("programs", &RouteRanksConfig::programs, "at most")}};
    t.isLocal = true;
    t.make = maker<RouteRanks, RouteRanksConfig, 4>(route_ranks);
    return t;
  }();
  return table;
}

}  // namespace tables

RouteRanks::RouteRanks(Team& team, int64_t maxM, int64_t experts, int64_t topK, int64_t destinations, DType dtype,
                       const RouteRanksConfig& config)
    : Operator(tables::route_ranks(), team, {maxM, experts, topK, destinations}, dtype, &config), experts_(experts),
      topK_(topK), destinations_(destinations), config_(config) {
  checkExperts(table_, experts, topK);
  if (destinations > kMostDestinations)
    throw Error("`route_ranks`: `destinations` is " + std::to_string(destinations) + ", 1 to " +
                std::to_string(kMostDestinations) + " are possible");
  counts_ = memory_.localZeros({team.residentPrograms() * destinations}, DType::Int32, "counts");
}

void RouteRanks::queue(const Call& call) {
  int64_t m = call.numbers[0], columns = int64_t(std::bit_ceil(uint64_t(destinations_)));
  bool simulated = team_.target() == "sim";
  int64_t most = team_.residentPrograms(), each = simulated ? kSimulatedAlone : kAlone / 4;
  if (config_.programs) most = std::min<int64_t>(most, config_.programs);
  int64_t programs = m > (simulated ? kSimulatedAlone : kAlone) ? std::min(cdiv(m, each), most) : 1;
  each = cdiv(m, programs);
  int64_t tokens = std::min<int64_t>(std::max<int64_t>(kMarks / columns, 1), int64_t(std::bit_ceil(uint64_t(each))));
  team_.launch(
      kernelOf("ops/route_ranks/route_ranks.py", "route_ranks"),
      {.grid = {int(programs), 1, 1}, .numWarps = 4, .stream = call.stream, .cooperative = programs > 1},
      {call.tensors[0], call.tensors[1], call.tensors[2], call.tensors[3], counts_, findings(), m, each},
      {{"E", experts_},
       {"TOP_K", topK_},
       {"DESTINATIONS", destinations_},
       {"PADDED", columns},
       {"TOKENS", tokens},
       {"PROGRAMS", programs},
       {"ROWS_AT_ONCE", std::clamp<int64_t>(kMarks / columns, 1, int64_t(std::bit_ceil(uint64_t(programs))))}});
}

}  // namespace tandem::ops
