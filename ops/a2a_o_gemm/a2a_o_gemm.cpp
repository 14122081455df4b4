// Host side of the projection behind an attention whose heads are dealt to ranks: one kernel multiplies while the rows of the peers'
// heads come, band after band. The channel counts the bands as slices.
#include "ops/a2a_o_gemm/a2a_o_gemm.h"
#include "ops/a2a_o_gemm/model.h"
#include "ops/gathering.h"
#include "ops/gemm_chooser.h"
#include "ops/gemm_options.h"
#include "ops/gemm_tiles.h"
#include "ops/heads.h"
#include "ops/kernel_text.h"
#include <algorithm>
#include <nlohmann/json.hpp>

namespace tandem::ops {
namespace {

constexpr int64_t kLeastInner = 16, kMostInner = 64;

int64_t innerOf(int64_t d) { return std::min(d & -d, kMostInner); }

// Steps along K end where a rank's heads end.
GemmConfig fitted(GemmConfig config, int64_t d) {
  config.bTransposed = true;
  if (!config.blockK && innerOf(d) >= kLeastInner) config.blockK = int(innerOf(d));
  return config;
}

}  // namespace

namespace tables {

const Table& a2a_o_gemm() {
  static const Table table = [] {
    Table t{.name = "a2a_o_gemm",
            .className = "AllToAllOutGemm",
            .what = "out = this rank's rows of all heads of x times w^T; each rank has all rows of its heads.",
            .sizes = {{"max_m", "the most rows"},
                      {"n", "columns of out"},
                      {"hq", "heads of queries of all ranks"},
                      {"hkv", "heads of keys, by which they are dealt"},
                      {"d", "elements of a head"}},
            .types = summedTypes(),
            .typeWords = "fp16, bf16 or fp32",
            .tensors = {{.name = "x", .shape = {"m", "own_hq", "d"}},
                        {.name = "w", .shape = {"n", "hq*d"}},
                        {.name = "out", .shape = {"own(m)", "n"}, .isOutput = true}},
            .numbers = {{"m", Number::Kind::Rows, "rows of x, which become those of all ranks"}},
            .options = headsOptions()};
    t.tunes = true;
    t.make = maker<AllToAllOutGemm, GemmConfig, 5>(a2a_o_gemm);
    t.choices = [](const nlohmann::json& request) { return gemmChoices(a2a_o_gemm(), rowsOfHeadsModel(), request); };
    return t;
  }();
  return table;
}

}  // namespace tables

AllToAllOutGemm::AllToAllOutGemm(Team& team, int64_t maxM, int64_t n, int64_t hq, int64_t hkv, int64_t d, DType dtype,
                                 const GemmConfig& config)
    : Operator(tables::a2a_o_gemm(), team, {maxM, n, hq, hkv, d}, dtype, &config), n_(n), hq_(hq), hkv_(hkv), d_(d),
      width_(mostHeads(hq, hkv, team.size()).queries * d), pitch_(0) {
  checkHeadsOfRanks(table_, hq, hkv);
  chooser_ = std::make_unique<GemmChooser>(team, table_, rowsOfHeadsModel(), n, hq * d, dtype, fitted(config, d));
  channel_ = std::make_unique<Gathering>(team, memory_);
  if (team.size() == 1) return;
  // Row blocks reach behind a shard's last row, into rows that are read and not used.
  int64_t most = tileBounds(config, team.target()).mostM;
  pitch_ = cdiv(shardRows(maxM, team.size()), most) * most;
  gathered_ = memory_.symmetricZeros({team.size() * pitch_, width_}, dtype, "gathered");
}

AllToAllOutGemm::~AllToAllOutGemm() = default;

void AllToAllOutGemm::push(const Tensor& x, int64_t width, int64_t m, int64_t bandRows) {
  int64_t shard = shardRows(m, team_.size()), bands = cdiv(shard, bandRows);
  for (int64_t band = 0; band < bands; ++band)
    for (int peer : channel_->peers()) {
      int64_t first = band * bandRows;
      int64_t rows = std::clamp<int64_t>(rowsOfRank(m, team_.size(), peer) - first, 0, bandRows);
      channel_->copy(peer, rowsOf(gathered_, team_.rank() * pitch_ + first, rows, width_),
                     rowsOf(x, peer * shard + first, rows, width), 0, width);
      if (rows || band + 1 == bands) channel_->tell(peer, band + 1);
    }
}

void AllToAllOutGemm::queue(const Call& call) {
  const Tensor &x = call.tensors[0], &w = call.tensors[1], &out = call.tensors[2];
  int ranks = team_.size(), stream = call.stream;
  int64_t m = call.numbers[0], shard = shardRows(m, ranks), rows = rowsOfRank(m, ranks, team_.rank());
  // Tiles are chosen by facts that all ranks share; how a rank reads and writes its own tensors is its own affair.
  Tensor head{0, {1, d_}, dtype_};
  bool fits = innerOf(d_) >= kLeastInner && copiesBlocks({head, anywhere(w)}, dtype_, true, team_.target());
  const GemmConfig& config = chooser_->choose(m, fits, dtype_).config;
  int64_t width = headsOfRank(hq_, hkv_, ranks, team_.rank()).count * d_, bandRows = rowsOfBand(config, shard);
  bool blocks = fits && rows && d_ % config.blockK == 0 && copiesBlocks({x, w}, dtype_, true, team_.target());
  bool outBlocks = blocks && copiesBlocks({out}, dtype_, true, team_.target());
  channel_->begin(stream);
  Tensor own{x.address + uint64_t(team_.rank() * shard * width * byteSize(dtype_)), {rows, width}, dtype_};
  LaunchConfig launch{
      .grid = {config.programs, 1, 1}, .numWarps = config.numWarps, .stream = stream, .numStages = config.numStages};
  bool isHere = rows && width;
  team_.launch(kernelOf("ops/a2a_o_gemm/a2a_o_gemm.py", "a2a_o_gemm"), launch,
               {isHere      ? own
                : ranks > 1 ? gathered_
                            : w,
                ranks > 1 ? gathered_ : own, w, out.address ? out : w, channel_->ready(), n_, rows,
                isHere ? width : width_, pitch_, std::max<int64_t>(ranks * pitch_, 1), cdiv(shard, bandRows), bandRows},
               {{"HQ", hq_},
                {"HKV", hkv_},
                {"D", d_},
                {"WIDTH", width_},
                {"BLOCK_M", int64_t(config.blockM)},
                {"BLOCK_N", int64_t(config.blockN)},
                {"BLOCK_K", int64_t(config.blockK)},
                {"GROUP", int64_t(config.group)},
                {"PROGRAMS", int64_t(config.programs)},
                {"BLOCKS", blocks},
                {"OUT_BLOCKS", outBlocks}});
  push(x, width, m, bandRows);
  channel_->end();
}

TunedGemm AllToAllOutGemm::tune(const Tensor& x, const Tensor& w, const Tensor& out, int64_t m, int stream) {
  return chooser_->tune(m, stream, [&] { run(x, w, out, m, stream); });
}

std::string AllToAllOutGemm::tune(const Call& call) {
  return textOf(table_, tune(call.tensors[0], call.tensors[1], call.tensors[2], call.numbers[0], call.stream));
}

}  // namespace tandem::ops
