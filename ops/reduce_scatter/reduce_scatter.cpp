// Host side of reduce-scatter.
#include "ops/check.h"
#include "ops/collective.h"
#include "ops/kernel_text.h"
#include <utility>

namespace tandem::ops {
namespace {

constexpr char kOp[] = "reduce_scatter";

const Kernel& kernel() {
  static const Kernel kernel = Kernel::fromText(kTwoShotText, "ops/all_reduce/two_shot.py", "reduce_scatter");
  return kernel;
}

}  // namespace

ReduceScatter::ReduceScatter(Team& team, int64_t maxM, int64_t columns, DType dtype, const CollectiveConfig& config)
    : team_(team), maxM_(maxM), columns_(columns), dtype_(dtype) {
  checkPositive(kOp, "max_m", maxM);
  checkPositive(kOp, "columns", columns);
  checkSummed(kOp, dtype);
  checkBytes(kOp, maxM, columns, dtype);
  checkConfig(kOp, config);
  op_ = team.openOperator(madeFor(kOp, std::to_string(maxM) + " x " + std::to_string(columns), dtype, config), "m");
  given_ = config;
  config_ = completed(config, team);
  int64_t shard = roundUp(shardRows(maxM, team.size()) * columns);
  mostChunks_ = mostChunks(config_, shard, dtype);
  parts_ = team.empty({2, team.size(), shard}, dtype, "reduce_scatter parts");
  ready_ = team.zeros({config_.programs * mostChunks_ * team.size()}, DType::Int64, "reduce_scatter ready");
  epochs_ = team.localZeros({config_.programs}, DType::Int64, "reduce_scatter calls");
}

void ReduceScatter::close() {
  if (std::exchange(closed_, true)) return;
  team_.barrier();
  for (const Tensor& t : {parts_, ready_, epochs_}) team_.release(t);
}

void ReduceScatter::run(const Tensor& x, const Tensor& out, int64_t m, int stream) {
  checkOpen(kOp, closed_);
  checkRows(kOp, m, maxM_);
  checkSize(kOp, "x", x, m * columns_, dtype_);
  checkSize(kOp, "out", out, rowsOfRank(m, team_.size(), team_.rank()) * columns_, dtype_);
  team_.callOperator(op_, stream, {m});
  int64_t shard = shardRows(m, team_.size()) * columns_;
  CollectiveConfig config = sized(given_, config_, shard * byteSize(dtype_), team_);
  int64_t chunk = chunkElements(config, shard, dtype_);
  LaunchConfig launch{.grid = {config.programs, 1, 1}, .numWarps = config.numWarps, .stream = stream};
  team_.launch(kernel(), launch,
               {x, out, parts_, ready_, epochs_, m * columns_, shard, chunk, mostChunks_, parts_.size() / 2},
               {{"RANKS", int64_t(team_.size())}, {"TILE", tileElements(config, chunk, dtype_)}});
}

}  // namespace tandem::ops
