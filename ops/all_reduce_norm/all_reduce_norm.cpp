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
#include <tuple>

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
constexpr int64_t kMostWarps = 32;
constexpr int64_t kMostParts = 8, kScaledElements = 128;
// A row has several programs where each has so many packets less than the row: they cross a multiprocessor in the time in which
// the programs tell each other their sums.
constexpr int64_t kSavedPackets = 448;

}  // namespace

AllReduceNorm::AllReduceNorm(Team& team, int64_t maxM, int64_t columns, DType dtype, const AllReduceNormConfig& config)
    : Operator(tables::all_reduce_norm(), team, {maxM, columns}, dtype, &config), columns_(columns),
      rowPackets_(cdiv(columns, elementsOfPacket(dtype))), config_(config) {
  reach_ = reachOf(machineOfRanks(team));
  if (config_.eps == 0) config_.eps = kEps;
  if (!config_.numWarps) {
    auto warps = int64_t(std::bit_ceil(uint64_t(cdiv(rowPackets_, 32))));
    config_.numWarps = int(std::clamp<int64_t>(warps, 4, kMostWarps));
  }
  if (!config_.programs) config_.programs = team.target() == "sim" ? kSimulatedPrograms : team.residentPrograms();
  config_.programs = std::min(config_.programs, team.residentPrograms());
  for (auto [way, kind, name] : {std::tuple(AllReduceWay::OneShot, Packets::Kind::OneFlight, ""),
                                 {AllReduceWay::TwoShotPackets, Packets::Kind::TwoFlights, "shared "}}) {
    int64_t rows = mostElements(way, config.way, maxM * columns, dtype, team.size(), reach_) / columns;
    if (!rows) continue;
    CollectiveConfig used = config_;
    used.programs = int(std::min<int64_t>(rows, used.programs));
    int64_t packets = cdiv(rows, used.programs) * rowPackets_ * used.programs;
    packets_[way] = std::make_unique<Packets>(team, memory_, packets, used, kind, name);
  }
  divideRows(mostElements(AllReduceWay::OneShot, config.way, maxM * columns, dtype, team.size(), reach_) / columns);
  if (team.size() == 1 || !mostElements(AllReduceWay::TwoShot, config.way, maxM * columns, dtype, team.size(), reach_))
    return;
  AllReduceConfig reduced;
  static_cast<CollectiveConfig&>(reduced) = config;
  reduced.way = AllReduceWay::TwoShot;
  reduce_ = std::make_unique<AllReduce>(team, maxM * columns, dtype, reduced);
  sums_ = memory_.localZeros({maxM * columns}, dtype, "sums");
}

AllReduceNorm::~AllReduceNorm() = default;

AllReduceNorm::Division AllReduceNorm::divisionOf(int64_t m) const {
  int64_t parts = std::min(kMostParts, config_.programs / m), scaled = kScaledElements / elementsOfPacket(dtype_);
  if (parts < 2 || rowPackets_ * (parts - 1) < kSavedPackets * parts) return {1, rowPackets_, 0};
  int64_t packets = cdiv(cdiv(rowPackets_, parts), scaled) * scaled;
  auto warps = int64_t(std::bit_ceil(uint64_t(cdiv(packets, 32))));
  return {cdiv(rowPackets_, packets), packets, int(std::min<int64_t>(warps, config_.numWarps))};
}

void AllReduceNorm::divideRows(int64_t mostRows) {
  Division most{0, 0, 0};  // of all calls; programs of all rows
  for (int64_t m = 1; m <= std::min<int64_t>(mostRows, config_.programs / 2); ++m)
    if (Division of = divisionOf(m); of.programs > 1)
      most = {std::max(most.programs, m * of.programs), std::max(most.packets, of.packets),
              std::max(most.warps, of.warps)};
  if (!most.programs) return;
  CollectiveConfig used = config_;
  used.programs = int(most.programs);
  used.numWarps = most.warps;
  parted_ = std::make_unique<Packets>(team_, memory_, most.packets * used.programs, used, Packets::Kind::OneFlight,
                                      "parted ");
  told_ = markedSlots(team_, memory_, {used.programs, 2, kMostParts, 2}, "sums of parts");
}

std::vector<Operator*> AllReduceNorm::parts() const {
  if (!reduce_) return {};
  return {reduce_.get()};
}

void AllReduceNorm::queue(const Call& call) {
  const Tensor &x = call.tensors[0], &residual = call.tensors[1], &weight = call.tensors[2], &out = call.tensors[4];
  const Tensor& scales = config_.quantised ? call.tensors[3] : weight;
  int64_t m = call.numbers[0], elements = elementsOfPacket(dtype_);
  AllReduceWay way = config_.way == AllReduceWay::Auto ? wayFor(x.bytes(), team_.size(), reach_) : config_.way;
  bool isAligned = columns_ % elements == 0 && out.address % (elements * byteSize(out.dtype)) == 0;
  for (const Tensor& t : {x, residual, weight}) isAligned &= t.address % kPacketBytes == 0;
  Constants constants = {{"ALIGNED", isAligned}, {"QUANTISED", config_.quantised}, {"ROW_SCALES", config_.rowScales}};
  const Kernel& kernel = kernelOf("ops/all_reduce_norm/all_reduce_norm.py", "all_reduce_norm");
  if (way != AllReduceWay::TwoShot) {
    Division of = way == AllReduceWay::OneShot && m ? divisionOf(m) : Division{1, rowPackets_, 0};
    bool isParted = of.programs > 1;
    Packets& packets = isParted ? *parted_ : *packets_.at(way);
    int64_t rows = cdiv(m, isParted ? m : packets.programs());
    constants["PARTS"] = of.programs;
    constants["ONE_ROW"] = rows == 1;
    return packets.launch(kernel, x, residual, {m, rows},
                          Packets::Deal{cdiv(m, rows) * of.programs, rows * of.packets, of.warps}, call.stream,
                          {weight, out, scales, isParted ? told_ : weight, columns_,
                           isParted ? of.packets * elements : columns_, config_.eps},
                          constants);
  }
  Tensor sums = x;
  if (reduce_) {
    sums.address = sums_.address;
    reduce_->run(x, sums, call.stream);
  }
  int64_t most = team_.target() == "sim" ? kSimulatedPrograms : 2 * team_.residentPrograms(), rows = cdiv(m, most);
  constants.insert({{"ELEMENTS", elements},
                    {"RANKS", int64_t(1)},
                    {"POLLS", int64_t(0)},
                    {"FLIGHTS", int64_t(0)},
                    {"PARTS", int64_t(1)},
                    {"ONE_ROW", rows == 1}});
  team_.launch(kernel, {.grid = {int(cdiv(m, rows)), 1, 1}, .numWarps = config_.numWarps, .stream = call.stream},
               {sums, residual, residual, residual, m, rows, weight, out, scales, weight, columns_, columns_,
                config_.eps, 0, 0, 0},
               constants);
}

}  // namespace tandem::ops
