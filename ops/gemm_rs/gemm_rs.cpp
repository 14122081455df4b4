// Host side of GEMM + ReduceScatter: one kernel a call, and copies of its parts where these do not go straight to the peers.
#include "ops/gemm_rs/gemm_rs.h"
#include "ops/gemm_chooser.h"
#include "ops/gemm_options.h"
#include "ops/gemm_rs/model.h"
#include "ops/gemm_tiles.h"
#include "ops/kernel_text.h"
#include "ops/scattering.h"
#include <algorithm>
#include <nlohmann/json.hpp>

namespace tandem::ops {
namespace tables {

const Table& gemm_rs() {
  static const Table table = [] {
    Table t = gemmTable("gemm_rs", "GemmReduceScatter",
                        "out[rows_of_rank(m), n] = this rank's rows of the sum over ranks of a[m, k] @ b[k, n].", "m",
                        "own(m)");
    t.options = gemmOptions<GemmConfig>({"group", "pieces", "chunks", "few_rows", "library"});
    t.tunes = true;
    t.linear = {
        "RowParallelLinear", false, true,
        "this rank's rows of y come out (GEMM + ReduceScatter in one), and the bias' gradient is that of these rows"};
    t.make = maker<GemmReduceScatter, GemmConfig, 3>(gemm_rs);
    t.choices = [](const nlohmann::json& request) { return gemmChoices(gemm_rs(), scatterModel(), request); };
    return t;
  }();
  return table;
}

}  // namespace tables

GemmReduceScatter::GemmReduceScatter(Team& team, int64_t maxM, int64_t n, int64_t k, DType dtype,
                                     const GemmConfig& config)
    : GemmOperator(tables::gemm_rs(), scatterModel(), GemmKind::Scatter, team, maxM, n, k, dtype, config) {
  if (team.target().ends_with("+nvshmem"))
    throw Error(
        "`gemm_rs` stores to all ranks' memory as one tensor, so it needs the transport `nvlink`, not `nvshmem`");
  TileBounds tiles = tileBounds(config, team.target());
  int64_t rows = cdiv(shardRows(maxM, team.size()), tiles.mostM) * tiles.mostM,
          columns = cdiv(n, tiles.mostN) * tiles.mostN;
  channel_ = std::make_unique<Scattering>(team, memory_, rows, columns, rows / tiles.leastM * (columns / tiles.leastN),
                                          partType(dtype), config.chunks != 0);
  epoch_ = memory_.localZeros({1}, DType::Int64, "epoch");
  done_ = memory_.localZeros({1}, DType::Int32, "done");
}

GemmReduceScatter::~GemmReduceScatter() = default;

void GemmReduceScatter::multiply(const Tensor& a, const Tensor& b, const Tensor& out, int64_t m,
                                 const GemmChoice& choice, int stream) {
  GemmConfig config = choice.config;
  int ranks = team_.size();
  if (!channel_->canStore()) config.chunks = std::max(config.chunks, 1);
  bool copied = config.chunks > 0 && ranks > 1;
  bool blocks = copiesBlocks({a, b}, dtype_, config.bTransposed, team_.target());
  // Empty tensors have no blocks.
  int64_t rows = rowsOfRank(m, ranks, team_.rank()), shard = shardRows(m, ranks);
  bool outBlocks = blocks && rows > 0 && copiesBlocks({out}, dtype_, config.bTransposed, team_.target());
  int64_t tiles = cdiv(shard, config.blockM) * cdiv(n_, config.blockN), turn = turnOf(config, tiles);
  const Tensor& parts = channel_->parts();
  if (copied) channel_->begin(stream);
  team_.launch(kernelOf("ops/gemm_rs/gemm_rs.py", "gemm_rs"), launchOf(config, stream, ranks > 1),
               {a, b, out, parts, channel_->first(copied), channel_->ready(copied), channel_->brought(),
                channel_->begun(), epoch_, done_, m, n_, k_, shard, rows, turn, int64_t(copied ? 1 : ranks),
                parts.size() / config.blockN, channel_->stride(copied)},
               {{"BLOCK_M", int64_t(config.blockM)},
                {"BLOCK_N", int64_t(config.blockN)},
                {"BLOCK_K", int64_t(config.blockK)},
                {"GROUP", int64_t(config.group)},
                {"COPIED", copied},
                {"PROGRAMS", int64_t(config.programs)},
                {"BLOCKS", blocks},
                {"OUT_BLOCKS", outBlocks},
                {"B_TRANSPOSED", config.bTransposed}});
  if (!copied) return;
  channel_->send(tiles, turn, uint64_t(config.blockM) * config.blockN * byteSize(parts.dtype));
  channel_->end();
}

}  // namespace tandem::ops
