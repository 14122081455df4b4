// Host side of padding a route's rows.
#include "ops/route_align/route_align.h"
#include "ops/cdiv.h"
#include "ops/kernel_text.h"
#include "ops/route/blocks.h"
#include <algorithm>
#include <bit>

namespace tandem::ops {
namespace {

constexpr int64_t kMostStep = 128;
constexpr int64_t kComparisons = 4096;  // comparisons of a program at once

}  // namespace

namespace tables {

const Table& route_align() {
  static const Table table = [] {
    Table t{.name = "route_align",
            .className = "RouteAlign",
            .what =
                "Pads each expert's rows of a route to whole blocks of `align` rows: the slot of each padded row, and "
                "the expert of each block.",
            .sizes = {{"max_m", "the most tokens"},
                      {"experts", "of the route"},
                      {"top_k", "experts of a token"},
                      {"align", "rows of a block"}},
            .types = {DType::Int32},
            .typeWords = "i32",
            .tensors = {{.name = "route", .shape = {kRouteWords}},
                        {.name = "rows", .shape = {"1"}, .isOutput = true},
                        {.name = "block_experts", .shape = {"m*top_k + experts"}, .isOutput = true},
                        {.name = "out", .shape = {"m*top_k + experts*align"}, .isOutput = true}},
            .numbers = {{"m", Number::Kind::Rows, "tokens, of all ranks"}},
            .options = {option<RouteAlignConfig>("programs", &RouteAlignConfig::programs, "at most")}};
    t.isLocal = true;
    t.make = maker<RouteAlign, RouteAlignConfig, 4>(route_align);
    return t;
  }();
  return table;
}

}  // namespace tables

RouteAlign::RouteAlign(Team& team, int64_t maxM, int64_t experts, int64_t topK, int64_t align, DType dtype,
                       const RouteAlignConfig& config)
    : Operator(tables::route_align(), team, {maxM, experts, topK, align}, dtype, &config), experts_(experts),
      topK_(topK), align_(align), config_(config) {
  checkExperts(table_, experts, topK);
  if (align > kMostAlign)
    throw Error("`route_align`: `align` is " + std::to_string(align) + ", 1 to " + std::to_string(kMostAlign) +
                " are possible");
}

void RouteAlign::queue(const Call& call) {
  int64_t m = call.numbers[0], columns = int64_t(std::bit_ceil(uint64_t(experts_)));
  bool simulated = team_.target() == "sim";
  // The largest power of two that divides `align`.
  int64_t step = std::min(align_ & -align_, kMostStep),
          pieces = std::max<int64_t>(kComparisons / std::max(columns, step), 1);
  int64_t places = m * topK_ + experts_ * align_;
  int most = config_.programs ? config_.programs : simulated ? 4 : 2 * team_.residentPrograms();
  int programs = int(std::min<int64_t>(cdiv(places, step * pieces), most));
  team_.launch(kernelOf("ops/route_align/route_align.py", "route_align"),
               {.grid = {programs, 1, 1}, .numWarps = 4, .stream = call.stream},
               {call.tensors[0], call.tensors[1], call.tensors[2], call.tensors[3], findings(), m},
               {{"E", experts_},
                {"PADDED", columns},
                {"TOP_K", topK_},
                {"ALIGN", align_},
                {"STEP", step},
                {"PIECES", pieces},
                {"PROGRAMS", int64_t(programs)}});
}

}  // namespace tandem::ops
