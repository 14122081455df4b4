// Host side of all-reduce + residual + RMSNorm: one kernel while packets are quickest, else ops/all_reduce and a kernel.
#include "ops/all_reduce_norm/all_reduce_norm.h"
#include "ops/all_reduce/all_reduce.h"
#include "ops/all_reduce/model.h"
#include "ops/cdiv.h"
#include "ops/kernel_text.h"
#include "ops/machine_of_ranks.h"
#include "ops/packets/packets.h"
#include "ops/table.h"
#include <algorithm>
#include <bit>

namespace tandem::ops {
namespace tables {

const Table& all_reduce_norm() {
  using Config = AllReduceNormConfig;
  static const Table table = [] {
    Table t{.name = "all_reduce_norm",
            .className = "AllReduceNorm",
            .what =
                "residual += the sum of every rank's x; out = residual / sqrt(mean of its row's squares + eps) * "
                "weight, on every rank. `out` may be `x`.",
            .sizes = {{"max_m", "the most rows"}, {"columns", "of a row"}},
            .types = summedTypes(),
            .typeWords = "fp16, bf16 or fp32",
            .tensors = {{.name = "x", .shape = {"m", "columns"}},
                        {.name = "residual", .shape = {"m", "columns"}, .isInPlace = true},
                        {.name = "weight", .shape = {"columns"}},
                        {.name = "out_scales",
                         .shape = {"m", "scales(columns) + -1*row_scales*scales(columns) + row_scales"},
                         .isOutput = true,
                         .always = DType::Float32,
                         .givenBy = "quantised"},
                        {.name = "out", .shape = {"m", "columns"}, .isOutput = true, .quantisedBy = "quantised"}},
            .numbers = {{"m", Number::Kind::Rows, "rows"}},
            .options = allReduceOptions<Config>()};
    t.options.push_back(realOption<Config>("eps", &Config::eps, "added to the mean of the squares; else 1e-6"));
    t.options.push_back(option<Config>("quantised", &Config::quantised,
                                       "out is fp8e4nv, with a scale for each 128 elements of a row", 0, 1));
    t.options.push_back(
        option<Config>("row_scales", &Config::rowScales, "with `quantised`: one scale for each row", 0, 1));
    t.checkMore = [](const void* config) {
      const Config& c = *static_cast<const Config*>(config);
      if (c.rowScales && !c.quantised) throw Error("`all_reduce_norm`: `row_scales` goes with `quantised` alone");
    };
    t.make = maker<AllReduceNorm, Config, 2>(all_reduce_norm);
    return t;
  }();
  return table;
}

}  // namespace tables

namespace {

constexpr double kEps = 1e-6;
constexpr int kSimulatedPrograms = 4;
constexpr int64_t kMostWarps = 16, kMostOfThread = 32;  // elements of a row that a thread has at once

int64_t packetsOf(int64_t elements, DType dtype, int ranks, AllReduceWay way) {
  int64_t packets = cdiv(elements, elementsOfPacket(dtype, way == AllReduceWay::OneShotMarked));
  return way == AllReduceWay::TwoShotPackets ? cdiv(packets, ranks) : packets;
}

}  // namespace

AllReduceNorm::AllReduceNorm(Team& team, int64_t maxM, int64_t columns, DType dtype, const AllReduceNormConfig& config)
    : Operator(tables::all_reduce_norm(), team, {maxM, columns}, dtype, &config), columns_(columns), config_(config) {
  reach_ = reachOf(machineOfRanks(team));
  if (config_.eps == 0) config_.eps = kEps;
  if (!config_.numWarps) {
    auto warps = int64_t(std::bit_ceil(uint64_t(cdiv(columns, 32 * elementsOfPacket(dtype)))));
    config_.numWarps = int(std::clamp<int64_t>(warps, 4, kMostWarps));
  }
  int64_t tile = int64_t(std::bit_ceil(uint64_t(std::min(columns, kMostOfThread * 32 * config_.numWarps))));
  tile_ = std::clamp(tile, kScaled, kMostOfThread * 32 * config_.numWarps);
  if (!config_.programs) config_.programs = team.target() == "sim" ? kSimulatedPrograms : team.residentPrograms();
  config_.programs = std::min(config_.programs, team.residentPrograms());
  for (auto [way, name] : {std::pair(AllReduceWay::OneShot, ""),
                           {AllReduceWay::TwoShotPackets, "shared "},
                           {AllReduceWay::OneShotMarked, "marked "}}) {
    int64_t rows = mostElements(way, config.way, maxM * columns, dtype, team.size(), reach_) / columns;
    if (!rows) continue;
    CollectiveConfig used = config_;
    used.programs = int(std::min<int64_t>(rows, used.programs));
    int64_t each = packetsOf(cdiv(rows, used.programs) * columns, dtype, team.size(), way);
    packets_[way] =
        std::make_unique<Packets>(team, memory_, each * used.programs, used, name, way == AllReduceWay::OneShotMarked);
  }
  if (team.size() == 1 || !mostElements(AllReduceWay::TwoShot, config.way, maxM * columns, dtype, team.size(), reach_))
    return;
  AllReduceConfig reduced;
  static_cast<CollectiveConfig&>(reduced) = config;
  reduced.way = AllReduceWay::TwoShot;
  reduce_ = std::make_unique<AllReduce>(team, maxM * columns, dtype, reduced);
  sums_ = memory_.localZeros({maxM * columns}, dtype, "sums");
}

AllReduceNorm::~AllReduceNorm() = default;

std::vector<Operator*> AllReduceNorm::parts() const {
  if (!reduce_) return {};
  return {reduce_.get()};
}

void AllReduceNorm::queue(const Call& call) {
  const Tensor& x = call.tensors[0];
  AllReduceWay way = config_.way == AllReduceWay::Auto ? wayFor(x.bytes(), team_.size(), reach_) : config_.way;
  return way == AllReduceWay::TwoShot ? queueNorm(call) : queuePackets(call, way);
}

void AllReduceNorm::queuePackets(const Call& call, AllReduceWay way) {
  Packets& packets = *packets_.at(way);
  const Tensor &x = call.tensors[0], &residual = call.tensors[1], &weight = call.tensors[2], &out = call.tensors[4];
  const Tensor& scales = config_.quantised ? call.tensors[3] : weight;
  int64_t m = call.numbers[0], rows = cdiv(m, packets.programs()), elements = rows * columns_;
  Packets::Deal deal{cdiv(m, rows), packetsOf(elements, dtype_, team_.size(), way)};
  packets.launch(kernelOf("ops/all_reduce_norm/all_reduce_norm.py", "all_reduce_norm"), x, residual, {m, elements},
                 deal, call.stream, {weight, out, scales, columns_, config_.eps},
                 {{"FLIGHTS", int64_t(way == AllReduceWay::TwoShotPackets ? 2 : 1)},
                  {"MARKED", way == AllReduceWay::OneShotMarked},
                  {"TILE", tile_},
                  {"QUANTISED", config_.quantised},
                  {"ROW_SCALES", config_.rowScales}});
}

void AllReduceNorm::queueNorm(const Call& call) {
  const Tensor &x = call.tensors[0], &residual = call.tensors[1], &weight = call.tensors[2], &out = call.tensors[4];
  const Tensor& scales = config_.quantised ? call.tensors[3] : weight;
  int64_t m = call.numbers[0];
  Tensor sums = x;
  if (reduce_) {
    sums.address = sums_.address;
    reduce_->run(x, sums, call.stream);
  }
  int programs = int(std::min<int64_t>(m, team_.target() == "sim" ? kSimulatedPrograms : 2 * team_.residentPrograms()));
  team_.launch(kernelOf("ops/all_reduce_norm/all_reduce_norm.py", "add_norm"),
               {.grid = {programs, 1, 1}, .numWarps = config_.numWarps, .stream = call.stream},
               {sums, residual, weight, out, scales, m, columns_, config_.eps},
               {{"TILE", tile_}, {"QUANTISED", config_.quantised}, {"ROW_SCALES", config_.rowScales}});
}

}  // namespace tandem::ops
