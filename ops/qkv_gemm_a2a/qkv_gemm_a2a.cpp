// Host side of the projections before an attention whose heads are dealt to ranks: one kernel a call, and copies from the
// peers' results on the stream beside the caller's.
//
// That stream begins behind the caller's. For each band of rows and each peer it waits for the band's tiles in `brought`, puts
// that back, and copies the rows of queries, keys and values into the results; the caller's stream goes on when it is done.
// So nothing holds a number that changes from call to call, and a captured call replays as it is.
#include "ops/qkv_gemm_a2a/qkv_gemm_a2a.h"
#include "ops/gemm_chooser.h"
#include "ops/gemm_options.h"
#include "ops/heads.h"
#include "ops/kernel_text.h"
#include "ops/peer_copies.h"
#include "ops/qkv_gemm_a2a/model.h"
#include <algorithm>
#include <nlohmann/json.hpp>

namespace tandem::ops {
namespace {

constexpr int kWideTile = 256, kTile = 128;

// Weights lie as nn.Linear has them. Tiles are not so wide that the keys of a rank leave half of one empty.
GemmConfig fitted(GemmConfig config, int64_t keyColumns, const std::string& target) {
  config.bTransposed = true;
  if (!config.blockN && target != "sim" && keyColumns % kWideTile) config.blockN = kTile;
  return config;
}

}  // namespace

namespace tables {

const Table& qkv_gemm_a2a() {
  static const Table table = [] {
    Table t{.name = "qkv_gemm_a2a",
            .className = "QkvGemmAllToAll",
            .what = "q, kv = all rows of this rank's heads of x @ w^T; x is sharded by rows over the ranks.",
            .sizes = {{"max_m", "the most rows"},
                      {"h", "columns of x"},
                      {"hq", "heads of queries of all ranks"},
                      {"hkv", "heads of keys, and of values"},
                      {"d", "elements of a head"}},
            .types = summedTypes(),
            .typeWords = "fp16, bf16 or fp32",
            .tensors = {{.name = "x", .shape = {"own(m)", "h"}},
                        {.name = "w", .shape = {"hq*d + 2*hkv*d", "h"}},
                        {.name = "kv", .shape = {"2", "m", "own_hkv", "d"}, .isOutput = true},
                        {.name = "q", .shape = {"m", "own_hq", "d"}, .isOutput = true}},
            .numbers = {{"m", Number::Kind::Rows, "rows of x over all ranks"}},
            .options = headsOptions()};
    t.tunes = true;
    t.make = maker<QkvGemmAllToAll, GemmConfig, 5>(qkv_gemm_a2a);
    t.choices = [](const nlohmann::json& request) { return gemmChoices(qkv_gemm_a2a(), headsModel(), request); };
    return t;
  }();
  return table;
}

}  // namespace tables

QkvGemmAllToAll::QkvGemmAllToAll(Team& team, int64_t maxM, int64_t h, int64_t hq, int64_t hkv, int64_t d, DType dtype,
                                 const GemmConfig& config)
    : Operator(tables::qkv_gemm_a2a(), team, {maxM, h, hq, hkv, d}, dtype, &config), h_(h), hq_(hq), hkv_(hkv), d_(d) {
  checkHeadsOfRanks(table_, hq, hkv);
  int ranks = team.size();
  MostHeads most = mostHeads(hq, hkv, ranks);
  mostQ_ = most.queries * d, mostKv_ = most.keys * d;
  chooser_ = std::make_unique<GemmChooser>(team, table_, headsModel(), mostQ_ + 2 * mostKv_, h, dtype,
                                           fitted(config, mostKv_, team.target()));
  epoch_ = memory_.localZeros({1}, DType::Int64, "epoch");
  done_ = memory_.localZeros({1}, DType::Int32, "done");
  brought_ = memory_.symmetricZeros({int64_t(kMostBands) * ranks}, DType::Int64, "brought");
  begun_ = memory_.symmetricZeros({ranks}, DType::Int64, "begun");
  if (ranks == 1) return;
  int64_t shard = shardRows(maxM, ranks);
  awayQ_ = memory_.symmetricEmpty({ranks * shard, mostQ_}, dtype, "queries for others");
  awayKv_ = memory_.symmetricEmpty({2 * std::min<int64_t>(hkv, ranks) * shard, mostKv_}, dtype, "keys for others");
}

QkvGemmAllToAll::~QkvGemmAllToAll() = default;

void QkvGemmAllToAll::pull(const GemmConfig& config, const Tensor& q, const Tensor& kv, int64_t m, int stream) {
  int ranks = team_.size(), rank = team_.rank();
  int64_t shard = shardRows(m, ranks), bandRows = rowsOfBand(config, shard), parts = std::min<int64_t>(hkv_, ranks);
  int64_t columns = cdiv(mostQ_, config.blockN) + 2 * cdiv(mostKv_, config.blockN);
  RankHeads own = headsOfRank(hq_, hkv_, ranks, rank);
  for (int64_t first = 0, band = 0; first < shard; first += bandRows, ++band)
    for (int distance = 1; distance < ranks; ++distance) {
      int source = (rank - distance + ranks) % ranks;
      int64_t tiles = cdiv(std::min(bandRows, shard - first), config.blockM) * columns;
      Tensor brought{brought_.address + uint64_t(band * ranks + source) * 8, {1}, DType::Int64};
      team_.signals({{brought, uint64_t(tiles), Compare::Ge}, {brought, 0}}, stream);
      int64_t rows = std::clamp<int64_t>(rowsOfRank(m, ranks, source) - first, 0, bandRows);
      auto take = [&](const Tensor& away, int64_t most, int64_t matrix, const Tensor& out, int64_t width,
                      int64_t before) {
        if (!rows || !width) return;
        Tensor to = rowsOf(out, before + source * shard + first, rows, width);
        Tensor from = team_.peer(rowsOf(away, matrix * shard + first, rows, most), source);
        if (width == most)
          team_.copy(to, from, stream);
        else
          team_.copyColumns(to, from, 0, width, stream);
      };
      take(awayQ_, mostQ_, rank, q, own.count * d_, 0);
      for (int64_t value : {0, 1})
        take(awayKv_, mostKv_, value * parts + parts * rank / ranks, kv, own.keyCount * d_, value * m);
    }
}

void QkvGemmAllToAll::queue(const Call& call) {
  const Tensor &x = call.tensors[0], &w = call.tensors[1], &kv = call.tensors[2], &q = call.tensors[3];
  int ranks = team_.size(), stream = call.stream, beside = stream;
  int64_t m = call.numbers[0], shard = shardRows(m, ranks), rows = rowsOfRank(m, ranks, team_.rank());
  // Tiles are chosen by facts that all ranks share; how a rank reads and writes its own tensors is its own affair.
  Tensor head{0, {1, d_}, dtype_};
  bool fits = copiesBlocks({anywhere(x), anywhere(w), head}, dtype_, true, team_.target());
  const GemmConfig& config = chooser_->choose(m, fits, dtype_).config;
  RankHeads own = headsOfRank(hq_, hkv_, ranks, team_.rank());
  bool blocks = rows && own.count && copiesBlocks({x, w, q, kv}, dtype_, true, team_.target());
  int64_t columns = cdiv(mostQ_, config.blockN) + 2 * cdiv(mostKv_, config.blockN);
  int64_t ownQ = own.count * d_, ownKv = own.keyCount * d_, before = team_.rank() * shard * byteSize(dtype_);
  if (ranks > 1) {
    beside = team_.streamBeside(stream);
    team_.waitEvent(team_.recordEvent(stream), beside);
  }
  auto orOther = [](const Tensor& t, const Tensor& other) { return t.address ? t : other; };
  Tensor qHere{q.address + uint64_t(before * ownQ), {rows, ownQ}, dtype_};
  Tensor kvHere{kv.address + uint64_t(before * ownKv), {rows, ownKv}, dtype_};
  LaunchConfig launch{
      .grid = {config.programs, 1, 1}, .numWarps = config.numWarps, .stream = stream, .numStages = config.numStages};
  team_.launch(kernelOf("ops/qkv_gemm_a2a/qkv_gemm_a2a.py", "qkv_gemm_a2a"), launch,
               {orOther(x, w), w, orOther(qHere, kvHere), kvHere, orOther(awayQ_, kvHere), orOther(awayKv_, kvHere),
                brought_, begun_, epoch_, done_, m, h_, rows, shard,
                cdiv(std::min(rowsOfBand(config, shard), shard), config.blockM) * columns, ownQ, ownKv, int64_t(ranks),
                std::min<int64_t>(hkv_, ranks)},
               {{"HQ", hq_},
                {"HKV", hkv_},
                {"D", d_},
                {"Q_WIDTH", mostQ_},
                {"KV_WIDTH", mostKv_},
                {"SHARED", hkv_ < ranks},
                {"BLOCK_M", int64_t(config.blockM)},
                {"BLOCK_N", int64_t(config.blockN)},
                {"BLOCK_K", int64_t(config.blockK)},
                {"GROUP", int64_t(config.group)},
                {"PROGRAMS", int64_t(config.programs)},
                {"BLOCKS", blocks}});
  if (ranks == 1) return;
  pull(config, q, kv, m, beside);
  team_.waitEvent(team_.recordEvent(beside), stream);
}

TunedGemm QkvGemmAllToAll::tune(const Tensor& x, const Tensor& w, const Tensor& q, const Tensor& kv, int64_t m,
                                int stream) {
  return chooser_->tune(m, stream, [&] { run(x, w, q, kv, m, stream); });
}

std::string QkvGemmAllToAll::tune(const Call& call) {
  const auto& t = call.tensors;
  return textOf(table_, tune(t[0], t[1], t[3], t[2], call.numbers[0], call.stream));
}

}  // namespace tandem::ops
