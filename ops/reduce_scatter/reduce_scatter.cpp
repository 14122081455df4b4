// Host side of reduce-scatter: packets for small shards, chunks that are signalled for large ones.
#include "ops/reduce_scatter/reduce_scatter.h"
#include "ops/cdiv.h"
#include "ops/collective.h"
#include "ops/kernel_text.h"
#include "ops/packets/packets.h"

namespace tandem::ops {

namespace tables {

const Table& reduce_scatter() {
  static const Table table = [] {
    Table t{.name = "reduce_scatter",
            .className = "ReduceScatter",
            .what = "out[rows_of_rank(m), columns] = this rank's rows of the sum of every rank's x[m, columns].",
            .sizes = {{"max_m", "the most rows"}, {"columns", "of a row"}},
            .types = summedTypes(),
            .typeWords = "fp16, bf16 or fp32",
            .tensors = {{"x", {"m", "columns"}}, {"out", {"own(m)", "columns"}, true}},
            .numbers = {{"m", Number::Kind::Rows, "rows of x"}},
            .options = collectiveOptions<ReduceScatterConfig>(),
            .isFlat = true};
    t.options.push_back(option<ReduceScatterConfig>("packets_bytes", &ReduceScatterConfig::packetsBytes,
                                                    "a rank's rows of at most so many bytes travel in packets", 0,
                                                    kNoLimit, ReduceScatterConfig().packetsBytes));
    t.make = maker<ReduceScatter, ReduceScatterConfig, 2>(reduce_scatter);
    return t;
  }();
  return table;
}

}  // namespace tables

ReduceScatter::ReduceScatter(Team& team, int64_t maxM, int64_t columns, DType dtype, const ReduceScatterConfig& config)
    : Operator(tables::reduce_scatter(), team, {maxM, columns}, dtype, &config), columns_(columns),
      packetsBytes_(config.packetsBytes), given_(config), config_(completed(config, team)) {
  int64_t shard = shardRows(maxM, team.size()) * columns, bytes = shard * byteSize(dtype);
  if (packetsBytes_ > 0)
    packets_ = std::make_unique<Packets>(team, memory_, cdiv(std::min(bytes, packetsBytes_), kPacketBytes), config,
                                         Packets::Kind::OneFlight);
  if (bytes <= packetsBytes_) return;
  shard = roundUp(shard);
  mostChunks_ = mostChunks(config_, shard, dtype);
  parts_ = memory_.symmetricEmpty({2, team.size(), shard}, dtype, "parts");
  ready_ = memory_.symmetricZeros({config_.programs * mostChunks_ * team.size()}, DType::Int64, "ready");
  epochs_ = memory_.localZeros({config_.programs}, DType::Int64, "calls");
}

ReduceScatter::~ReduceScatter() = default;

void ReduceScatter::queue(const Call& call) {
  const Tensor &x = call.tensors[0], &out = call.tensors[1];
  int64_t m = call.numbers[0], shard = shardRows(m, team_.size()) * columns_;
  if (shard * byteSize(dtype_) <= packetsBytes_)
    return packets_->launch(packetsKernel("reduce_scatter"), x, out, {m * columns_, shard},
                            cdiv(shard, elementsOfPacket(dtype_)), call.stream);
  CollectiveConfig config = sized(given_, config_, shard * byteSize(dtype_), team_);
  int64_t chunk = chunkElements(config, shard, dtype_);
  LaunchConfig launch{.grid = {config.programs, 1, 1}, .numWarps = config.numWarps, .stream = call.stream};
  team_.launch(kernelOf("ops/all_reduce/two_shot.py", "reduce_scatter"), launch,
               {x, out, parts_, ready_, epochs_, m * columns_, shard, chunk, mostChunks_, parts_.size() / 2},
               {{"RANKS", int64_t(team_.size())}, {"TILE", tileElements(config, chunk, dtype_)}});
}

}  // namespace tandem::ops
