// Host side of products over the rows of each expert.
#include "ops/grouped_outer/grouped_outer.h"
#include "ops/cdiv.h"
#include "ops/grouped_gemm/product.h"
#include "ops/kernel_text.h"
#include <algorithm>

namespace tandem::ops {
namespace {

struct Tile {
  int m, n, k, warps, stages;
};
constexpr Tile kSimulated = {16, 32, 32, 2, 2}, kFloats = {32, 64, 64, 4, 3}, kHalves = {64, 128, 128, 8, 3};
constexpr int kSimulatedPrograms = 8, kProgramsEach = 2;  // of a multiprocessor

void fill(int& value, int chosen) {
  if (!value) value = chosen;
}

}  // namespace

namespace tables {

const Table& grouped_outer() {
  static const Table table = [] {
    using Config = GroupedOuterConfig;
    Table t{.name = "grouped_outer",
            .className = "GroupedOuter",
            .what = "out[e] = the sum over expert e's rows of h's row times its token's row of x.",
            .sizes = groupedSizes(),
            .types = summedTypes(),
            .typeWords = "fp16, bf16 or fp32",
            .tensors = {{.name = "h", .shape = {"m*top_k", "n"}},
                        {.name = "x", .shape = {"m", "k"}},
                        {.name = "route", .shape = {kRouteWords}, .always = DType::Int32},
                        {.name = "out", .shape = {"experts", "n", "k"}, .isOutput = true}},
            .numbers = {{"m", Number::Kind::Rows, "tokens"}},
            .options = groupedOptions<Config>()};
    t.sizes[1].what = "columns of h";
    t.sizes[2].what = "columns of x";
    t.options[0].what = "rows that are multiplied at once";
    t.options.push_back(option<Config>("weighted", &Config::weighted, "by the route's weights", 0, 1));
    t.isLocal = true;
    t.make = maker<GroupedOuter, Config, 5>(grouped_outer);
    return t;
  }();
  return table;
}

}  // namespace tables

GroupedOuter::GroupedOuter(Team& team, int64_t maxM, int64_t n, int64_t k, int64_t experts, int64_t topK, DType dtype,
                           const GroupedOuterConfig& config)
    : Operator(tables::grouped_outer(), team, {maxM, n, k, experts, topK}, dtype, &config), n_(n), k_(k),
      experts_(experts), topK_(topK), config_(config) {
  checkExperts(table_, experts, topK);
  bool simulated = team.target() == "sim";
  Tile tile = simulated ? kSimulated : dtype == DType::Float32 ? kFloats : kHalves;
  fill(config_.blockM, tile.m);
  fill(config_.blockN, tile.n);
  fill(config_.blockK, tile.k);
  fill(config_.numWarps, tile.warps);
  fill(config_.numStages, tile.stages);
  fill(config_.programs, simulated ? kSimulatedPrograms : kProgramsEach * team.residentPrograms());
}

void GroupedOuter::queue(const Call& call) {
  const Tensor &h = call.tensors[0], &x = call.tensors[1], &route = call.tensors[2], &out = call.tensors[3];
  int64_t tiles = experts_ * cdiv(n_, config_.blockN) * cdiv(k_, config_.blockK);
  int programs = int(std::min<int64_t>(tiles, config_.programs));
  LaunchConfig launch{
      .grid = {programs, 1, 1}, .numWarps = config_.numWarps, .stream = call.stream, .numStages = config_.numStages};
  team_.launch(kernelOf("ops/grouped_outer/grouped_outer.py", "grouped_outer"), launch,
               {h, x, out, route, findings(), n_, k_, call.numbers[0] * topK_},
               {{"BLOCK_M", int64_t(config_.blockM)},
                {"BLOCK_N", int64_t(config_.blockN)},
                {"BLOCK_K", int64_t(config_.blockK)},
                {"PROGRAMS", int64_t(programs)},
                {"E", experts_},
                {"TOP_K", topK_},
                {"WEIGH", config_.weighted}});
}

}  // namespace tandem::ops
