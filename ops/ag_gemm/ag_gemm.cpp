// Host side of AllGather + GEMM: one kernel multiplies while the shards come, in slices of bands.
#include "ops/ag_gemm/ag_gemm.h"
#include "ops/ag_gemm/model.h"
#include "ops/gemm_ar/few_rows.h"
#include "ops/gemm_ar/model.h"
#include "ops/gemm_options.h"
#include "ops/gemm_tiles.h"
#include "ops/gathering.h"
#include "ops/kernel_text.h"
#include "ops/product/library_time.h"
#include "ops/product/library_way.h"
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

struct AllGatherGemm::Plan {
  int64_t m, shard, ownRows;
  bool blocks = false, outBlocks = false;
  GemmConfig config = {};
  Slices slices = {};
};

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
    : Operator(tables::ag_gemm(), team, {maxM, n, k}, dtype, &config), n_(n), k_(k), config_(config) {
  chooser_ = std::make_unique<GemmChooser>(team, table_, gatherModel(), n, k, dtype, config);
  TileBounds tiles = tileBounds(config, team.target());
  int64_t shard = shardRows(maxM, team.size());
  pitch_ = (shard + tiles.mostM - 1) / tiles.mostM * tiles.mostM;
  // Row blocks reach behind a shard's last row, into rows that are read and not used.
  gathered_ = memory_.symmetricZeros({team.size() * pitch_, k}, dtype, "gathered");
  channel_ = std::make_unique<Gathering>(team, memory_, kMostBands);
  pieces_ = memory_.localZeros({mostPieces(config, team.residentPrograms()), tiles.mostM * tiles.mostN}, DType::Float32,
                               "pieces");
  brought_ = memory_.localZeros({team.residentPrograms()}, DType::Int32, "brought");
  if (int64_t few = mostFewRows(config, maxM))
    few_ = std::make_unique<FewRows>(team, memory_, FewRows::Kind::Gather, *chooser_, few, n, k, dtype, config);
  GemmSizes most{maxM, n, k, team.size(), dtype};
  LibraryWay::Rows those = LibraryWay::rowsFor(config, LibraryWay::Kind::Gather, most, chooser_->hasProducts());
  if (those.most || those.mostWhole)
    library_ = std::make_unique<LibraryWay>(team, memory_, LibraryWay::Kind::Gather, those, most, config.bTransposed);
}

AllGatherGemm::~AllGatherGemm() = default;

std::vector<Operator*> AllGatherGemm::parts() const {
  return library_ && library_->part() ? std::vector{library_->part()} : std::vector<Operator*>();
}

// By what all ranks share.
bool AllGatherGemm::fits(const Tensor& b) const {
  return copiesBlocks({anywhere(gathered_), anywhere(b)}, dtype_, config_.bTransposed, team_.target());
}

AllGatherGemm::Plan AllGatherGemm::planned(const Tensor& a, const Tensor& b, const Tensor& out, int64_t m) const {
  Plan plan{.m = m, .shard = shardRows(m, team_.size()), .ownRows = a.shape[0]};
  plan.blocks = copiesBlocks({plan.ownRows ? a : gathered_, gathered_, b}, dtype_, config_.bTransposed, team_.target());
  const GemmChoice& choice = chooser_->choose(m, plan.blocks, out.dtype, plan.blocks == fits(b));
  plan.config = choice.config;
  plan.outBlocks = plan.blocks && plan.shard % plan.config.blockM == 0 &&
                   copiesBlocks({out}, dtype_, config_.bTransposed, team_.target());
  plan.slices = choice.slices;
  return plan;
}

void AllGatherGemm::multiply(const Plan& plan, const Tensor& a, const Tensor& b, const Tensor& out, int stream) {
  const GemmConfig& config = plan.config;
  LaunchConfig launch{
      .grid = {config.programs, 1, 1}, .numWarps = config.numWarps, .stream = stream, .numStages = config.numStages};
  team_.launch(kernelOf("ops/ag_gemm/ag_gemm.py", "ag_gemm"), launch,
               {plan.ownRows ? a : gathered_, gathered_, b, out, channel_->ready(), pieces_, brought_, plan.m, n_, k_,
                std::max<int64_t>(plan.ownRows, 1), plan.shard, pitch_, team_.size() * pitch_, plan.slices.bands,
                plan.slices.bandRows},
               {{"BLOCK_M", int64_t(config.blockM)},
                {"BLOCK_N", int64_t(config.blockN)},
                {"BLOCK_K", int64_t(config.blockK)},
                {"SLICE_STEPS", plan.slices.columns / config.blockK},
                {"GROUP", int64_t(config.group)},
                {"PIECES", int64_t(config.pieces)},
                {"PROGRAMS", int64_t(config.programs)},
                {"BLOCKS", plan.blocks},
                {"OUT_BLOCKS", plan.outBlocks},
                {"B_TRANSPOSED", config.bTransposed}});
}

void AllGatherGemm::push(const Plan& plan, const Tensor& a) {
  const Slices& slices = plan.slices;
  size_t nth = 0;
  for (int peer : channel_->peers())
    for (int64_t band = 0; band < slices.bands; ++band) {
      int64_t top = band * slices.bandRows, rows = std::clamp<int64_t>(plan.ownRows - top, 0, slices.bandRows);
      Tensor from = rowsOf(a, top, rows, k_), to = rowsOf(gathered_, team_.rank() * pitch_ + top, rows, k_);
      int64_t slice = 0;
      for (int count : slices.copies[nth++]) {
        int64_t first = slice * slices.columns, columns = std::min(count * slices.columns, k_ - first);
        channel_->copy(peer, to, from, first, columns);
        slice += count;
        if (rows || slice == slices.count) channel_->tell(peer, slice, band, slices.bands);
      }
    }
}

void AllGatherGemm::queue(const Call& call) {
  const Tensor &a = call.tensors[0], &b = call.tensors[1], &out = call.tensors[2];
  int stream = call.stream;
  const GemmConfig& config = chooser_->choose(call.numbers[0], fits(b), out.dtype).config;
  if (config.library > 0) return library_->run(a, b, out, call.numbers[0], config.chunks, stream);
  if (config.fewRows) return few_->run(a, b, out, call.numbers[0], config, stream);
  Plan plan = planned(a, b, out, call.numbers[0]);
  channel_->begin(stream);
  multiply(plan, a, b, out, stream);
  push(plan, a);
  channel_->end();
}

TunedGemm AllGatherGemm::tune(const Tensor& a, const Tensor& b, const Tensor& out, int64_t m, int stream) {
  return chooser_->tune(m, stream, [&] { run(a, b, out, m, stream); });
}

std::string AllGatherGemm::tune(const Call& call) {
  return textOf(table_, tune(call.tensors[0], call.tensors[1], call.tensors[2], call.numbers[0], call.stream));
}

}  // namespace tandem::ops
