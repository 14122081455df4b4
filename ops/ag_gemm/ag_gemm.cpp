// Host side of AllGather + GEMM: the shards travel by copy engines on a stream of their own while one kernel multiplies.
//
// On the push stream, in this order (M13 orders what a stream does):
//   1. wait until busy[peer] == 0 for each peer, then set it to 1: all have read what the last call pushed
//   2. push the slices, each followed by peer.ready[me, slice] = 1, also slices without rows
//   3. wait for the kernel, and for all ready[peer, *] == 1; put `ready` back to 0
//   4. peer.busy[me] = 0 for each peer
// Nothing is written into what is still read: a peer's 2 comes after its 1, which waits for my 4 of the call before, which comes after
// my 3. No 0 is lost: my 4 comes after my 3, which waits for the peer's 2, so after the 1 that it sets in this call; this holds for ranks
// without rows because they send every signal. The wait for room was over long ago, unless a peer is late. All values are constants
// and all signals 0 between calls: a captured call replays as it is.
//
// One stream: copies to several peers at once, by all ranks, are much slower than one after the other, each rank to another peer.
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
  Slices slices = {};
};

AllGatherGemm::AllGatherGemm(Team& team, int64_t maxM, int64_t n, int64_t k, DType dtype, const GemmConfig& config)
    : team_(team), maxM_(maxM), n_(n), k_(k), dtype_(dtype), config_(config) {
  checkOperator(kOp, maxM, n, k, dtype, config);
  TileBounds tiles = tileBounds(config, team.target());
  int64_t shard = shardRows(maxM, team.size());
  pitch_ = (shard + tiles.mostM - 1) / tiles.mostM * tiles.mostM;
  // Row blocks reach behind a shard's last row, into rows that are read and not used.
  gathered_ = team.zeros({team.size() * pitch_, k}, dtype, "ag_gemm gathered");
  ready_ = team.zeros({team.size() * mostSlices(config)}, DType::Int32, "ag_gemm ready");
  busy_ = team.zeros({team.size()}, DType::Int32, "ag_gemm busy");
  if (team.size() > 1) pushStream_ = team.newStream();
}

void AllGatherGemm::close() {
  team_.barrier();
  for (const Tensor& t : {gathered_, ready_, busy_}) team_.release(t);
}

AllGatherGemm::Plan AllGatherGemm::planned(const Tensor& a, const Tensor& b, const Tensor& c, int64_t m) const {
  Plan plan{.m = m, .shard = shardRows(m, team_.size()), .ownRows = a.shape[0]};
  plan.blocks =
      copiesBlocks({plan.ownRows ? a : gathered_, gathered_, b, c}, dtype_, config_.bTransposed, team_.target());
  GemmSizes sizes{m, n_, k_, team_.size(), dtype_};
  plan.config = completed(config_, sizes, {team_.target(), team_.residentPrograms(), plan.blocks});
  plan.slices = slicesOf(sizes, plan.config.blockK, config_.slices);
  return plan;
}

void AllGatherGemm::multiply(const Plan& plan, const Tensor& a, const Tensor& b, const Tensor& c, int stream) {
  const GemmConfig& config = plan.config;
  LaunchConfig launch{
      .grid = {config.programs, 1, 1}, .numWarps = config.numWarps, .stream = stream, .numStages = config.numStages};
  team_.launch(kernel(), launch,
               {plan.ownRows ? a : gathered_, gathered_, b, c, ready_, plan.m, n_, k_,
                std::max<int64_t>(plan.ownRows, 1), plan.shard, pitch_, team_.size() * pitch_, plan.slices.count},
               {{"BLOCK_M", int64_t(config.blockM)},
                {"BLOCK_N", int64_t(config.blockN)},
                {"BLOCK_K", int64_t(config.blockK)},
                {"SLICE_STEPS", plan.slices.columns / config.blockK},
                {"GROUP", int64_t(config.group)},
                {"PROGRAMS", int64_t(config.programs)},
                {"BLOCKS", plan.blocks},
                {"WHOLE_BLOCKS", plan.shard % config.blockM == 0},
                {"B_TRANSPOSED", config.bTransposed}});
}

void AllGatherGemm::push(const Plan& plan, const Tensor& a) {
  Tensor mine = signalsAt(ready_, team_.rank() * plan.slices.count, plan.slices.count);
  uint64_t shardBytes = uint64_t(team_.rank() * pitch_ * k_ * byteSize(dtype_));
  for (int distance = 1; distance < team_.size(); ++distance) {
    Tensor shard = team_.peer({gathered_.address + shardBytes, a.shape, dtype_}, peerAt(distance));
    int64_t slice = 0;
    for (int count : plan.slices.copies[size_t(distance - 1)]) {
      int64_t first = slice * plan.slices.columns, columns = std::min(count * plan.slices.columns, k_ - first);
      if (plan.ownRows && columns == k_)
        team_.copy(shard, a, pushStream_);
      else if (plan.ownRows)
        team_.copyColumns(shard, a, first, columns, pushStream_);
      team_.signalWrite(team_.peer(signalsAt(mine, slice, count), peerAt(distance)), 1, pushStream_);
      slice += count;
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

  team_.waitEvent(team_.recordEvent(stream), pushStream_);
  multiply(plan, a, b, c, stream);
  std::vector<SignalStep> take, give;
  forOthers([&](int64_t first, int64_t count) {
    Tensor busy = signalsAt(busy_, first, count);
    take.insert(take.end(), {{busy, 0, Compare::Eq}, {busy, 1}});
    Tensor ready = signalsAt(ready_, first * plan.slices.count, count * plan.slices.count);
    give.insert(give.end(), {{ready, 1, Compare::Eq}, {ready, 0}});
  });
  for (int distance = 1; distance < team_.size(); ++distance)
    give.push_back({team_.peer(signalsAt(busy_, team_.rank(), 1), peerAt(distance)), 0});
  team_.signals(take, pushStream_);
  push(plan, a);
  team_.waitEvent(team_.recordEvent(stream), pushStream_);
  team_.signals(give, pushStream_);
  team_.waitEvent(team_.recordEvent(pushStream_), stream);
}

// The ranks below this one and those above it.
void AllGatherGemm::forOthers(const std::function<void(int64_t first, int64_t count)>& body) const {
  if (team_.rank()) body(0, team_.rank());
  if (int64_t above = team_.size() - 1 - team_.rank()) body(team_.rank() + 1, above);
}

}  // namespace tandem::ops
