// Host side of all-reduce.
#include "ops/all_reduce/all_reduce.h"
#include "ops/all_reduce/model.h"
#include "ops/collective.h"
#include "ops/kernel_text.h"
#include "ops/machine_of_ranks.h"
#include "ops/packets/packets.h"
#include <algorithm>
#include <nlohmann/json.hpp>

namespace tandem::ops {

AllReduceWay allReduceWay(int64_t bytes, int ranks) { return wayFor(bytes, ranks, 1); }

namespace tables {

const Table& all_reduce() {
  using Kind = Number::Kind;
  static const Table table = [] {
    Table t{.name = "all_reduce",
            .className = "AllReduce",
            .what = "out = the sum of every rank's x, on every rank. `out` may be `x`.",
            .sizes = {{"max_elements", "the most elements of x"}},
            .types = summedTypes(),
            .typeWords = "fp16, bf16 or fp32",
            .tensors = {{"x", {"elements"}}, {"out", {"elements"}, true}},
            .numbers = {{"elements", Kind::Elements, "of x"},
                        {"symmetric_out", Kind::Flag, "`out` is the same symmetric tensor on every rank"}},
            .options = allReduceOptions<AllReduceConfig>(),
            .isFlat = true};
    t.make = maker<AllReduce, AllReduceConfig, 1>(all_reduce);
    t.choices = [](const nlohmann::json& request) -> nlohmann::json {
      AllReduceWay chosen = allReduceWay(request.at("bytes"), request.at("ranks"));
      return {{{"config", {{"way", all_reduce().options.front().words[size_t(chosen)]}}}}};
    };
    return t;
  }();
  return table;
}

}  // namespace tables

AllReduce::AllReduce(Team& team, int64_t maxElements, DType dtype, const AllReduceConfig& config)
    : Operator(tables::all_reduce(), team, {maxElements}, dtype, &config), way_(config.way), given_(config),
      config_(completed(config, team)) {
  reach_ = reachOf(machineOfRanks(team));
  int ranks = team.size();
  auto elementsBy = [&](AllReduceWay way) { return mostElements(way, way_, maxElements, dtype, ranks, reach_); };
  if (int64_t n = elementsBy(AllReduceWay::OneShot))
    packets_ =
        std::make_unique<Packets>(team, memory_, cdiv(n, elementsOfPacket(dtype)), config, Packets::Kind::OneFlight);
  if (int64_t n = elementsBy(AllReduceWay::TwoShotPackets))
    sharedPackets_ = std::make_unique<Packets>(team, memory_, cdiv(n, elementsOfPacket(dtype)), config,
                                               Packets::Kind::TwoFlights, "shared ");
  if (!elementsBy(AllReduceWay::TwoShot)) return;
  int64_t shard = shardElements(maxElements, ranks);
  mostChunks_ = mostChunks(config_, shard, dtype);
  parts_ = memory_.symmetricEmpty({ranks, shard}, dtype, "parts");
  sums_ = memory_.symmetricEmpty({ranks, shard}, dtype, "sums");
  ready_ = memory_.symmetricZeros({config_.programs * mostChunks_ * ranks}, DType::Int64, "ready");
  done_ = memory_.symmetricZeros({config_.programs * mostChunks_ * ranks}, DType::Int64, "done");
  epochs_ = memory_.localZeros({config_.programs}, DType::Int64, "calls");
}

AllReduce::~AllReduce() = default;

void AllReduce::queue(const Call& call) {
  const Tensor &x = call.tensors[0], &out = call.tensors[1];
  int64_t n = x.size();
  int stream = call.stream;
  AllReduceWay way = way_ == AllReduceWay::Auto ? wayFor(x.bytes(), team_.size(), reach_) : way_;
  if (way == AllReduceWay::TwoShot) return runTwoShot(x, out, stream, call.numbers[1] != 0);
  Packets& packets = way == AllReduceWay::OneShot ? *packets_ : *sharedPackets_;
  packets.launch(packetsKernel("all_reduce"), x, out, {n}, cdiv(n, elementsOfPacket(dtype_)), stream);
}

void AllReduce::runTwoShot(const Tensor& x, const Tensor& out, int stream, bool symmetricOut) {
  int64_t n = x.size(), shard = shardElements(n, team_.size());
  CollectiveConfig config = sized(given_, config_, shard * byteSize(dtype_), team_);
  int64_t chunk = chunkElements(config, shard, dtype_);
  LaunchConfig launch{.grid = {config.programs, 1, 1}, .numWarps = config.numWarps, .stream = stream};
  team_.launch(
      kernelOf("ops/all_reduce/two_shot.py", "two_shot"), launch,
      {x, out, parts_, sums_, ready_, done_, epochs_, n, shard, chunk, mostChunks_},
      {{"RANKS", int64_t(team_.size())}, {"TILE", tileElements(config, chunk, dtype_)}, {"DIRECT", symmetricOut}});
}

}  // namespace tandem::ops
