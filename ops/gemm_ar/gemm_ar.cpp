// Host side of GEMM + AllReduce: one kernel a call.
#include "ops/gemm_ar/gemm_ar.h"
#include "ops/gemm_ar/model.h"
#include "ops/gemm_options.h"
#include "ops/kernel_text.h"
#include "ops/machine_of_ranks.h"
#include "ops/packets/packets.h"
#include "ops/gemm_choice.h"
#include <algorithm>

namespace tandem::ops {
namespace {

constexpr int kSimulatedPrograms = 6;

}  // namespace

struct GemmAllReduce::Plan {
  SumTile tile;
  int64_t tiles;
  int splits;
  bool oneShot, packets;
  int64_t elements() const { return tiles * tile.m * tile.n; }
};

GemmAllReduce::Plan GemmAllReduce::planned(int64_t m, bool blocks) const {
  SumTile tile = sumTileFor(m, dtype_, team_.target(), blocks);
  if (config_.blockM) tile.m = config_.blockM;
  if (config_.blockN) tile.n = config_.blockN;
  if (config_.blockK) tile.k = config_.blockK;
  if (config_.numWarps) tile.warps = config_.numWarps;
  if (config_.numStages) tile.stages = config_.numStages;
  Plan plan{.tile = tile,
            .tiles = cdiv(m, tile.m) * cdiv(n_, tile.n),
            .splits = config_.splits,
            .oneShot = false,
            .packets = false};
  if (!plan.splits) plan.splits = splitsFor(programs_, plan.tiles, cdiv(k_, tile.k));
  int64_t bytes = m * n_ * byteSize(partType(dtype_));
  plan.packets = bytes <= config_.packetsBytes;
  plan.oneShot = plan.packets || bytes <= config_.oneShotBytes;
  return plan;
}

namespace tables {

const Table& gemm_ar() {
  using Config = GemmAllReduceConfig;
  static const Table table = [] {
    Table t = gemmTable("gemm_ar", "GemmAllReduce",
                        "out[m, n] = the sum over ranks of a[m, k] @ b[k, n], on every rank: for few rows.", "m", "m");
    t.options = gemmOptions<Config>({});
    for (const Option& o :
         {option<Config>("splits", &Config::splits, "programs that share the inner size of a tile", 0, kMostSplits),
          option<Config>("one_shot_bytes", &Config::oneShotBytes,
                         "results up to so many are summed by every rank for itself", 0, kNoLimit, -1),
          option<Config>("packets_bytes", &Config::packetsBytes, "and up to so many travel in packets", 0, kNoLimit,
                         -1)})
      t.options.push_back(o);
    t.linear = {"RowParallelLinear", false, false, "all of y comes out on every rank (GEMM + AllReduce)"};
    t.make = maker<GemmAllReduce, Config, 3>(gemm_ar);
    return t;
  }();
  return table;
}

}  // namespace tables

GemmAllReduce::GemmAllReduce(Team& team, int64_t maxM, int64_t n, int64_t k, DType dtype,
                             const GemmAllReduceConfig& config)
    : Operator(tables::gemm_ar(), team, {maxM, n, k}, dtype, &config), n_(n), k_(k), config_(config) {
  model::Machine machine = machineOfRanks(team);
  if (config.packetsBytes < 0) config_.packetsBytes = mostPacketsBytes(team.size(), machine);
  if (config.oneShotBytes < 0) config_.oneShotBytes = mostOneShotBytes(team.size(), machine);
  int wanted = config.programs          ? config.programs
               : team.target() == "sim" ? kSimulatedPrograms
                                        : team.residentPrograms();
  programs_ = std::min(wanted, team.residentPrograms());
  int64_t tiles = 0, items = 0, splitElements = 1, perPacket = elementsOfPacket(partType(dtype));
  setElements_ = setPackets_ = 0;
  // Among the numbers of rows with equally many tiles the first asks for the most memory; a tile's rows are a multiple
  // of this.
  constexpr int kLeastTileRows = 16;
  for (int64_t m = 1; m <= maxM; m += kLeastTileRows)
    for (bool blocks : {false, true}) {
      Plan plan = planned(m, blocks);
      tiles = std::max(tiles, plan.tiles);
      items = std::max(items, plan.tiles * plan.splits);
      setElements_ = std::max(setElements_, plan.elements());
      if (plan.packets) setPackets_ = std::max(setPackets_, team.size() * plan.elements() / perPacket * 2);
      if (plan.splits > 1) splitElements = std::max(splitElements, plan.elements() * plan.splits);
    }
  parts_ = memory_.symmetricEmpty({2, team.size(), setElements_}, partType(dtype), "parts");
  sums_ = memory_.symmetricEmpty({2, setElements_}, partType(dtype), "sums");
  packets_ = markedSlots(team, memory_, {2, std::max<int64_t>(setPackets_, 1)}, "packets");
  splits_ = memory_.localZeros({splitElements}, DType::Float32, "splits");
  ready_ = memory_.symmetricZeros({tiles * team.size()}, DType::Int64, "ready");
  done_ = memory_.symmetricZeros({tiles}, DType::Int64, "done");
  counted_ = memory_.symmetricZeros({items}, DType::Int64, "counted");
  epochs_ = memory_.localZeros({programs_}, DType::Int64, "calls");
}

void GemmAllReduce::queue(const Call& call) {
  const Tensor &a = call.tensors[0], &b = call.tensors[1];
  int64_t m = call.numbers[0];
  bool blocks = copiesBlocks({a, b}, dtype_, config_.bTransposed, team_.target());
  Plan plan = planned(m, blocks);
  LaunchConfig launch{.grid = {programs_, 1, 1},
                      .numWarps = plan.tile.warps,
                      .stream = call.stream,
                      .numStages = plan.tile.stages,
                      .cooperative = team_.size() > 1};
  team_.launch(kernelOf("ops/gemm_ar/gemm_ar.py", "gemm_ar"), launch,
               {a, b, call.tensors[2], parts_, sums_, packets_, splits_, ready_, done_, counted_, epochs_, m, n_, k_,
                setElements_, setPackets_},
               {{"RANKS", int64_t(team_.size())},
                {"BM", int64_t(plan.tile.m)},
                {"BN", int64_t(plan.tile.n)},
                {"BK", int64_t(plan.tile.k)},
                {"SPLITS", int64_t(plan.splits)},
                {"ONE_SHOT", plan.oneShot},
                {"PACKETS", plan.packets ? elementsOfPacket(partType(dtype_)) : 0},
                {"POLLS", pollsOn(team_)},
                {"B_BY_COLUMNS", config_.bTransposed},
                {"DESCRIPTORS", blocks}});
}

}  // namespace tandem::ops
