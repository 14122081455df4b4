// Host side of AllGather + GEMM: the shards travel by copy engines on streams of their own while one kernel multiplies.
//
// Between this rank and each peer, on one stream of each, in this order (M13 orders what a stream does):
//   1. wait for the main stream, which has ended the last call and put this call's `ready` back to 0
//   2. peer.begun[me] = 1: my workspace is free
//   3. wait for begun[peer] == 1, put it back to 0
//   4. push the chunks, each followed by peer.ready[me, chunk] = 1, also chunks without rows
//   5. wait for all ready[peer, *] == 1; the main stream waits for this stream
// A peer's 4 comes after my 2, so after my 1: nothing is written into what is still read or about to be reset. A peer is never a call
// ahead: its next 2 comes after its 5, which waits for my 4, which comes after my 3. So the 1 of its next call finds begun back at 0, and
// this holds for ranks without rows because they send every signal. All values are constants: a captured call replays as it is.
#include "ops/check.h"
#include "ops/kernel_text.h"
#include "ops/plan.h"
#include <algorithm>

namespace tandem::ops {
namespace {

constexpr char kOp[] = "ag_gemm";

const Kernel& kernel() {
  static const Kernel kernel = Kernel::fromText(kAgGemmText, "ops/ag_gemm/ag_gemm.py", "ag_gemm");
  return kernel;
}

Tensor signalsAt(const Tensor& signals, int64_t first, int64_t count) {
  return {signals.address + uint64_t(first * byteSize(signals.dtype)), {count}, signals.dtype};
}

}  // namespace

struct AllGatherGemm::Plan {
  int64_t m, shard, ownRows;
  bool blocks = false;
  GemmConfig config = {};
  Chunks chunks = {};
};

AllGatherGemm::AllGatherGemm(Team& team, int64_t maxM, int64_t n, int64_t k, DType dtype, const GemmConfig& config)
    : team_(team), maxM_(maxM), n_(n), k_(k), dtype_(dtype), config_(config) {
  checkOperator(kOp, maxM, n, k, dtype, config);
  TileBounds tiles = tileBounds(config, team.target());
  int64_t shard = shardRows(maxM, team.size());
  pitch_ = (shard + tiles.mostM - 1) / tiles.mostM * tiles.mostM;
  // Row blocks reach behind a shard's last row, into rows that are read and not used.
  gathered_ = team.zeros({team.size() * pitch_, k}, dtype, "ag_gemm gathered");
  ready_ = team.zeros({team.size() * (pitch_ / tiles.leastM)}, DType::Int32, "ag_gemm ready");
  begun_ = team.zeros({team.size()}, DType::Int32, "ag_gemm begun");
  for (int peer = 1; peer < team.size(); ++peer) pushStreams_.push_back(team.newStream());
}

void AllGatherGemm::close() {
  team_.barrier();
  for (const Tensor& t : {gathered_, ready_, begun_}) team_.release(t);
}

AllGatherGemm::Plan AllGatherGemm::planned(const Tensor& a, const Tensor& b, const Tensor& c, int64_t m) const {
  Plan plan{.m = m, .shard = shardRows(m, team_.size()), .ownRows = a.shape[0]};
  plan.blocks =
      copiesBlocks({plan.ownRows ? a : gathered_, gathered_, b, c}, dtype_, config_.bTransposed, team_.target());
  GemmSizes sizes{m, n_, k_, team_.size(), dtype_};
  plan.config = completed(config_, sizes, {team_.target(), team_.residentPrograms(), plan.blocks});
  plan.chunks = chunksOf(sizes, plan.config.blockM, config_.chunks);
  return plan;
}

void AllGatherGemm::multiply(const Plan& plan, const Tensor& a, const Tensor& b, const Tensor& c, int stream) {
  const GemmConfig& config = plan.config;
  LaunchConfig launch{
      .grid = {config.programs, 1, 1}, .numWarps = config.numWarps, .stream = stream, .numStages = config.numStages};
  team_.launch(
      kernel(), launch,
      {plan.ownRows ? a : gathered_, gathered_, b, c, ready_, plan.m, n_, k_, std::max<int64_t>(plan.ownRows, 1),
       plan.shard, pitch_, team_.size() * pitch_, plan.chunks.blocks, plan.chunks.count},
      {{"BLOCK_M", int64_t(config.blockM)},
       {"BLOCK_N", int64_t(config.blockN)},
       {"BLOCK_K", int64_t(config.blockK)},
       {"GROUP", int64_t(config.group)},
       {"PROGRAMS", int64_t(config.programs)},
       {"BLOCKS", plan.blocks},
       {"WHOLE_BLOCKS", plan.shard % config.blockM == 0},
       {"B_TRANSPOSED", config.bTransposed}});
}

Tensor AllGatherGemm::pieceFor(int peer, int64_t firstRow, int64_t rows) const {
  int64_t at = (team_.rank() * pitch_ + firstRow) * k_ * byteSize(dtype_);
  return team_.peer({gathered_.address + uint64_t(at), {rows, k_}, dtype_}, peer);
}

void AllGatherGemm::push(const Plan& plan, const Tensor& a) {
  int64_t chunkRows = plan.chunks.blocks * plan.config.blockM;
  for (int64_t chunk = 0; chunk < plan.chunks.count; ++chunk) {
    int64_t first = std::min(chunk * chunkRows, plan.ownRows), rows = std::min(chunkRows, plan.ownRows - first);
    Tensor source{a.address + uint64_t(first * k_ * byteSize(dtype_)), {rows, k_}, dtype_};
    Tensor mine = signalsAt(ready_, team_.rank() * plan.chunks.count + chunk, 1);
    for (int distance = 1; distance < team_.size(); ++distance) {
      int peer = peerAt(distance), stream = pushStreams_[size_t(distance - 1)];
      if (rows) team_.copy(pieceFor(peer, first, rows), source, stream);
      team_.signalWrite(team_.peer(mine, peer), 1, stream);
    }
  }
}

void AllGatherGemm::run(const Tensor& a, const Tensor& b, const Tensor& c, int64_t m, int stream) {
  checkRows(kOp, m, maxM_);
  checkShape(kOp, "a", a, rowsOfRank(m, team_.size(), team_.rank()), k_);
  checkShape(kOp, "b", b, config_.bTransposed ? n_ : k_, config_.bTransposed ? k_ : n_);
  checkShape(kOp, "c", c, m, n_);
  checkDType(kOp, "a", a, dtype_);
  checkDType(kOp, "b", b, dtype_);
  checkResult(kOp, "c", c);
  Plan plan = planned(a, b, c, m);
  if (team_.size() == 1) return multiply(plan, a, b, c, stream);

  team_.signalWrite(signalsAt(ready_, 0, team_.size() * plan.chunks.count), 0, stream);
  uint64_t free = team_.recordEvent(stream);
  Tensor me = signalsAt(begun_, team_.rank(), 1);
  for (int distance = 1; distance < team_.size(); ++distance) {
    int peer = peerAt(distance), pushStream = pushStreams_[size_t(distance - 1)];
    team_.waitEvent(free, pushStream);
    team_.signalWrite(team_.peer(me, peer), 1, pushStream);
  }
  multiply(plan, a, b, c, stream);
  for (int distance = 1; distance < team_.size(); ++distance) {
    int pushStream = pushStreams_[size_t(distance - 1)];
    Tensor begun = signalsAt(begun_, peerAt(distance), 1);
    team_.signalWait(begun, Compare::Eq, 1, pushStream);
    team_.signalWrite(begun, 0, pushStream);
  }
  push(plan, a);
  for (int distance = 1; distance < team_.size(); ++distance) {
    int pushStream = pushStreams_[size_t(distance - 1)];
    team_.signalWait(signalsAt(ready_, peerAt(distance) * plan.chunks.count, plan.chunks.count), Compare::Eq, 1,
                     pushStream);
    team_.waitEvent(team_.recordEvent(pushStream), stream);
  }
}

}  // namespace tandem::ops
