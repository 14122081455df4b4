// Host side of GEMM + ReduceScatter: one kernel a call, and copies of its parts on a stream of their own where these do
// not go straight to the peers.
//
// The push stream begins behind the main stream. For each turn of tiles for a peer it waits for their number in
// `brought`, puts that back, copies them and tells the peer; the main stream goes on when it is done. So nothing holds
// a number that changes from call to call, and a captured call replays as it is.
#include "ops/gemm_rs/gemm_rs.h"
#include "ops/gemm_ar/few_rows.h"
#include "ops/gemm_ar/model.h"
#include "ops/gemm_options.h"
#include "ops/gemm_rs/model.h"
#include "ops/gemm_tiles.h"
#include "ops/kernel_text.h"
#include "ops/product/library_time.h"
#include "ops/product/library_way.h"
#include "ops/gemm_chooser.h"
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
    : Operator(tables::gemm_rs(), team, {maxM, n, k}, dtype, &config), n_(n), k_(k), config_(config) {
  if (team.target().ends_with("+nvshmem"))
    throw Error(
        "`gemm_rs` stores to all ranks' memory as one tensor, so it needs the transport `nvlink`, not `nvshmem`");
  chooser_ = std::make_unique<GemmChooser>(team, table_, scatterModel(), n, k, dtype, config);
  TileBounds tiles = tileBounds(config, team.target());
  int64_t shard = shardRows(maxM, team.size()), peers = team.size() - 1;
  int64_t rows = cdiv(shard, tiles.mostM) * tiles.mostM, columns = cdiv(n, tiles.mostN) * tiles.mostN;
  parts_ = memory_.symmetricEmpty({std::max<int64_t>(peers * rows, 1), columns}, partType(dtype), "parts");
  ready_ = memory_.symmetricZeros({peers * (rows / tiles.leastM) * (columns / tiles.leastN)}, DType::Int64, "ready");
  int64_t apart = team.size() > 1 ? int64_t(team.peer(parts_, 1).address - team.peer(parts_, 0).address) : 0;
  for (int r = 2; r < team.size(); ++r)
    isEven_ = isEven_ && int64_t(team.peer(parts_, r).address - team.peer(parts_, r - 1).address) == apart;
  bool mayCopy = peers && (config.chunks != 0 || !isEven_);
  outgoing_ = memory_.localZeros(mayCopy ? parts_.shape : std::vector<int64_t>{1}, parts_.dtype, "outgoing");
  arrived_ = memory_.symmetricZeros({std::max<int64_t>(peers, 1)}, DType::Int64, "arrived");
  brought_ = memory_.symmetricZeros({std::max<int64_t>(peers * kMostChunks, 1)}, DType::Int64, "brought");
  begun_ = memory_.symmetricZeros({team.size()}, DType::Int64, "begun");
  epoch_ = memory_.localZeros({1}, DType::Int64, "epoch");
  done_ = memory_.localZeros({1}, DType::Int32, "done");
  if (int64_t few = mostFewRows(config, maxM))
    few_ = std::make_unique<FewRows>(team, memory_, FewRows::Kind::Scatter, *chooser_, few, n, k, dtype, config);
  GemmSizes most{maxM, n, k, team.size(), dtype};
  LibraryWay::Rows those = LibraryWay::rowsFor(config, LibraryWay::Kind::Scatter, most, chooser_->hasProducts());
  if (those.most || those.mostWhole)
    library_ = std::make_unique<LibraryWay>(team, memory_, LibraryWay::Kind::Scatter, those, most, config.bTransposed);
}

GemmReduceScatter::~GemmReduceScatter() = default;

std::vector<Operator*> GemmReduceScatter::parts() const {
  return library_ && library_->part() ? std::vector{library_->part()} : std::vector<Operator*>();
}

// `tiles` of a shard, `bytes` of each, in the order in which the kernel brings them.
void GemmReduceScatter::push(int64_t tiles, int64_t turn, uint64_t bytes, int stream) {
  int peers = team_.size() - 1;
  std::vector<SignalStep> steps;
  for (int64_t first = 0, number = 0; first < tiles; first += turn, ++number)
    for (int nth = 0; nth < peers; ++nth) {
      int peer = (team_.rank() + 1 + nth) % team_.size(), slot = team_.rank() - (team_.rank() > peer);
      int64_t count = std::min(turn, tiles - first);
      Tensor brought{brought_.address + uint64_t(number * peers + nth) * 8, {1}, DType::Int64};
      steps.push_back({brought, uint64_t(count), Compare::Ge});
      steps.push_back({brought, 0});
      team_.signals(steps, stream);
      auto part = [&](const Tensor& parts, int64_t shard) {
        return Tensor{parts.address + uint64_t(shard * tiles + first) * bytes, {count * int64_t(bytes)}, DType::Int8};
      };
      team_.copy(team_.peer(part(parts_, slot), peer), part(outgoing_, nth), stream);
      Tensor arrived{arrived_.address + uint64_t(slot) * 8, {1}, DType::Int64};
      steps = {{team_.peer(arrived, peer), uint64_t(number + 1)}};
    }
  team_.signals(steps, stream);
}

void GemmReduceScatter::queue(const Call& call) {
  const Tensor &a = call.tensors[0], &b = call.tensors[1], &out = call.tensors[2];
  int64_t m = call.numbers[0];
  int stream = call.stream;
  bool blocks = copiesBlocks({a, b}, dtype_, config_.bTransposed, team_.target());
  // Tiles are chosen by facts that all ranks share: the addresses of a rank's own tensors decide only how it reads
  // them.
  bool fits = copiesBlocks({anywhere(a), anywhere(b)}, dtype_, config_.bTransposed, team_.target());
  GemmConfig config = chooser_->choose(m, fits, out.dtype).config;
  if (!isEven_) config.chunks = std::max(config.chunks, 1);
  if (config.library > 0) return library_->run(a, b, out, m, config.chunks, stream);
  if (config.fewRows) return few_->run(a, b, out, m, config, stream);
  // Empty tensors have no blocks.
  int64_t rows = rowsOfRank(m, team_.size(), team_.rank());
  bool outBlocks = blocks && rows > 0 && copiesBlocks({out}, dtype_, config_.bTransposed, team_.target());
  int64_t tiles = cdiv(shardRows(m, team_.size()), config.blockM) * cdiv(n_, config.blockN);
  bool copied = config.chunks > 0 && team_.size() > 1;
  int64_t turn = turnOf(config, tiles);
  Tensor firstParts = copied ? outgoing_ : team_.peer(parts_, 0);
  int64_t elements = parts_.shape[0] * parts_.shape[1];
  int64_t stride = !copied && team_.size() > 1
                       ? int64_t(team_.peer(parts_, 1).address - firstParts.address) / byteSize(parts_.dtype)
                       : elements;
  int beside = copied ? team_.streamBeside(stream) : stream;
  if (copied) team_.waitEvent(team_.recordEvent(stream), beside);
  LaunchConfig launch{.grid = {config.programs, 1, 1},
                      .numWarps = config.numWarps,
                      .stream = stream,
                      .numStages = config.numStages,
                      .cooperative = team_.size() > 1};
  team_.launch(
      kernelOf("ops/gemm_rs/gemm_rs.py", "gemm_rs"), launch,
      {a, b, out, parts_, firstParts, copied ? arrived_ : ready_, brought_, begun_, epoch_, done_, m, n_, k_,
       shardRows(m, team_.size()), rows, turn, int64_t(copied ? 1 : team_.size()), elements / config.blockN, stride},
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
  push(tiles, turn, uint64_t(config.blockM) * config.blockN * byteSize(parts_.dtype), beside);
  team_.waitEvent(team_.recordEvent(beside), stream);
}

TunedGemm GemmReduceScatter::tune(const Tensor& a, const Tensor& b, const Tensor& out, int64_t m, int stream) {
  return chooser_->tune(m, stream, [&] { run(a, b, out, m, stream); });
}

std::string GemmReduceScatter::tune(const Call& call) {
  return textOf(table_, tune(call.tensors[0], call.tensors[1], call.tensors[2], call.numbers[0], call.stream));
}

}  // namespace tandem::ops
