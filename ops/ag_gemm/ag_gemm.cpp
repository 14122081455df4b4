// Host side of AllGather + GEMM: one kernel multiplies while the shards come, in slices of bands.
#include "ops/ag_gemm/ag_gemm.h"
#include "ops/ag_gemm/model.h"
#include "ops/gemm_options.h"
#include "ops/gemm_tiles.h"
#include "ops/gathering.h"
#include "ops/kernel_text.h"
#include "ops/product/library_time.h"
#include "ops/gemm_chooser.h"
#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>

namespace tandem::ops {
namespace {

void checkWidth(const GemmConfig& config) {
  std::string seen = "`ag_gemm`: `block_n` is " + std::to_string(config.blockN);
  if (!config.blockN) return;
  if (config.blockN < 16 || config.blockN % 16 || std::popcount(unsigned(config.blockN)) > kWidthParts)
    throw Error(seen + ", a sum of up to " + std::to_string(kWidthParts) + " powers of two from 16 is needed");
  if (config.pieces > 1 && !std::has_single_bit(unsigned(config.blockN)))
    throw Error("`ag_gemm`: `pieces` is " + std::to_string(config.pieces) +
                ", but tiles are cut only where `block_n` is a power of two, which " + std::to_string(config.blockN) +
                " is not");
}

}  // namespace

namespace tables {

const Table& ag_gemm() {
  static const Table table = [] {
    Table t = gemmTable("ag_gemm", "AllGatherGemm",
                        "out[m, n] = gather(a)[m, k] @ b[k, n]; a is sharded by rows over the ranks.", "own(m)", "m");
    t.options =
        gemmOptions<GemmConfig>({"group", "bands", "slices", "copies", "pieces", "chunks", "few_rows", "library"});
    for (Option& o : t.options)
      if (o.name == "block_n") o.kind = Option::Kind::Number;
    t.tunes = true;
    t.linear = {"ColumnParallelLinear", true, true,
                "x is this rank's rows and all rows come out (AllGather + GEMM in one)"};
    t.checkMore = [](const void* given) {
      const auto& config = *static_cast<const GemmConfig*>(given);
      checkWidth(config);
      checkLibraryChunks("ag_gemm", config);
    };
    t.make = maker<AllGatherGemm, GemmConfig, 3>(ag_gemm);
    t.choices = [](const nlohmann::json& request) { return gemmChoices(ag_gemm(), gatherModel(), request); };
    return t;
  }();
  return table;
}

}  // namespace tables

AllGatherGemm::AllGatherGemm(Team& team, int64_t maxM, int64_t n, int64_t k, DType dtype, const GemmConfig& config)
    : GemmOperator(tables::ag_gemm(), gatherModel(), GemmKind::Gather, team, maxM, n, k, dtype, config) {
  TileBounds tiles = tileBounds(config, team.target());
  int64_t shard = shardRows(maxM, team.size());
  pitch_ = (shard + tiles.mostM - 1) / tiles.mostM * tiles.mostM;
  // Row blocks reach behind a shard's last row, into rows that are read and not used.
  gathered_ = memory_.symmetricZeros({team.size() * pitch_, k}, dtype, "gathered");
  channel_ = std::make_unique<Gathering>(team, memory_, kMostBands);
  pieces_ = memory_.localZeros({mostPieces(config, team.residentPrograms()), tiles.mostM * tiles.mostN}, DType::Float32,
                               "pieces");
  brought_ = memory_.localZeros({team.residentPrograms()}, DType::Int32, "brought");
}

AllGatherGemm::~AllGatherGemm() = default;

void AllGatherGemm::multiply(const Tensor& a, const Tensor& b, const Tensor& out, int64_t m, const GemmChoice& shared,
                             int stream) {
  auto areBlocks = [&](std::initializer_list<MatrixRows> all) {
    return copiesBlocks(all, dtype_, config_.bTransposed, team_.target());
  };
  int64_t shard = shardRows(m, team_.size()), ownRows = a.shape[0];
  const Tensor& own = ownRows ? a : gathered_;
  bool blocks = areBlocks({own, gathered_, b});
  // A rank whose tensors are not read as blocks, as the others' are, has tiles of its own.
  bool isAlike = blocks == areBlocks({anywhere(a), anywhere(b)});
  const GemmChoice choice = isAlike ? shared : chooser_->choose(m, blocks, out.dtype, isAlike);
  const GemmConfig& config = choice.config;
  channel_->begin(stream);
  team_.launch(kernelOf("ops/ag_gemm/ag_gemm.py", "ag_gemm"), launchOf(config, stream, false),
               {own, gathered_, b, out, channel_->ready(), pieces_, brought_, m, n_, k_, std::max<int64_t>(ownRows, 1),
                shard, pitch_, team_.size() * pitch_, choice.slices.bands, choice.slices.bandRows},
               {{"BLOCK_M", int64_t(config.blockM)},
                {"BLOCK_N", int64_t(config.blockN)},
                {"BLOCK_K", int64_t(config.blockK)},
                {"SLICE_STEPS", choice.slices.columns / config.blockK},
                {"GROUP", int64_t(config.group)},
                {"PIECES", int64_t(config.pieces)},
                {"PROGRAMS", int64_t(config.programs)},
                {"BLOCKS", blocks},
                {"OUT_BLOCKS", blocks && shard % config.blockM == 0 && areBlocks({out})},
                {"B_TRANSPOSED", config.bTransposed}});
  channel_->send(rowsOf(gathered_, team_.rank() * pitch_, ownRows, k_), a, choice.slices);
  channel_->end();
}

}  // namespace tandem::ops
