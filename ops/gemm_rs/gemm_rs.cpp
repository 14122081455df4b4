// Host side of GEMM + ReduceScatter: one kernel a call, and copies of its parts on a stream of their own where these do not go straight to
// the peers.
//
// The push stream begins behind the main stream. For each turn of tiles for a peer it waits for their number in `brought`, puts that back,
// copies them and tells the peer; the main stream goes on when it is done. So nothing holds a number that changes from call to call, and a
// captured call replays as it is.
#include "ops/check.h"
#include "ops/kernel_text.h"
#include "ops/planner.h"
#include <algorithm>
#include <utility>

namespace tandem::ops {
namespace {

constexpr char kOp[] = "gemm_rs";

const Kernel& kernel() {
  static const Kernel kernel = Kernel::fromText(kGemmRsText, "ops/gemm_rs/gemm_rs.py", "gemm_rs");
  return kernel;
}

Tensor anywhere(const Tensor& t) { return {0, t.shape, t.dtype}; }

}  // namespace

GemmReduceScatter::GemmReduceScatter(Team& team, int64_t maxM, int64_t n, int64_t k, DType dtype,
                                     const GemmConfig& config)
    : team_(team), maxM_(maxM), n_(n), k_(k), dtype_(dtype), config_(config) {
  checkOperator(kOp, maxM, n, k, dtype, config);
  op_ = team.openOperator(madeFor(kOp, maxM, n, k, dtype), "m");
  if (team.target().ends_with("+nvshmem"))
    throw Error(
        "`gemm_rs` stores to all ranks' memory as one tensor, so it needs the transport `nvlink`, not `nvshmem`");
  planner_ = std::make_unique<Planner>(team, GemmOp::ReduceScatter, n, k, dtype, config);
  TileBounds tiles = tileBounds(config, team.target());
  int64_t shard = shardRows(maxM, team.size()), peers = team.size() - 1;
  int64_t rows = cdiv(shard, tiles.mostM) * tiles.mostM, columns = cdiv(n, tiles.mostN) * tiles.mostN;
  parts_ = team.empty({std::max<int64_t>(peers * rows, 1), columns}, partType(dtype), "gemm_rs parts");
  ready_ = team.zeros({peers * (rows / tiles.leastM) * (columns / tiles.leastN)}, DType::Int64, "gemm_rs ready");
  bool mayCopy = peers && config.chunks != 0;
  outgoing_ = team.localZeros(mayCopy ? parts_.shape : std::vector<int64_t>{1}, parts_.dtype, "gemm_rs outgoing");
  arrived_ = team.zeros({std::max<int64_t>(peers, 1)}, DType::Int64, "gemm_rs arrived");
  brought_ = team.zeros({std::max<int64_t>(peers * kMostChunks, 1)}, DType::Int64, "gemm_rs brought");
  begun_ = team.zeros({team.size()}, DType::Int64, "gemm_rs begun");
  epoch_ = team.localZeros({1}, DType::Int64, "gemm_rs epoch");
  done_ = team.localZeros({1}, DType::Int32, "gemm_rs done");
}

GemmReduceScatter::~GemmReduceScatter() = default;

void GemmReduceScatter::close() {
  if (std::exchange(closed_, true)) return;
  team_.barrier();
  for (const Tensor& t : {parts_, ready_, outgoing_, arrived_, brought_, begun_, epoch_, done_}) team_.release(t);
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

void GemmReduceScatter::run(const Tensor& a, const Tensor& b, const Tensor& out, int64_t m, int stream) {
  checkOpen(kOp, closed_);
  checkRows(kOp, m, maxM_);
  checkShape(kOp, "a", a, m, k_);
  checkShape(kOp, "b", b, config_.bTransposed ? n_ : k_, config_.bTransposed ? k_ : n_);
  checkShape(kOp, "out", out, rowsOfRank(m, team_.size(), team_.rank()), n_);
  checkDType(kOp, "a", a, dtype_);
  checkDType(kOp, "b", b, dtype_);
  checkResult(kOp, "out", out);
  team_.callOperator(op_, stream, {m});
  bool blocks = copiesBlocks({a, b}, dtype_, config_.bTransposed, team_.target());
  // Tiles go by what all ranks know alike: where a rank's own tensors begin says only how it reads them.
  bool fits = copiesBlocks({anywhere(a), anywhere(b)}, dtype_, config_.bTransposed, team_.target());
  const GemmConfig& config = planner_->choose(m, fits).config;
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
      kernel(), launch,
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
  return planner_->tune(m, stream, [&] { run(a, b, out, m, stream); });
}

}  // namespace tandem::ops
