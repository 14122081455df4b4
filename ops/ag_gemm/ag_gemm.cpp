// Host side of AllGather + GEMM: the shards travel by copy engines on a stream of their own while one kernel multiplies.
//
// On the push stream, in this order (M13 orders what a stream does):
//   1. wait for the main stream, which has ended the last call and put this call's `ready` back to 0
//   2. peer.begun[me] = 1 for each peer: my workspace is free
//   3. wait for begun[peer] == 1 of each peer, put it back to 0
//   4. push the slices, each followed by peer.ready[me, slice] = 1, also slices without rows
//   5. wait for all ready[peer, *] == 1; the main stream waits for this stream
// A peer's 4 comes after my 2, so after my 1: nothing is written into what is still read or about to be reset. A peer is never a call
// ahead: its next 2 comes after its 5, which waits for my 4, which comes after my 3. So the 1 of its next call finds begun back at 0, and
// this holds for ranks without rows because they send every signal. All values are constants: a captured call replays as it is.
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
  begun_ = team.zeros({team.size()}, DType::Int32, "ag_gemm begun");
  if (team.size() > 1) pushStream_ = team.newStream();
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

  team_.signalWrite(signalsAt(ready_, 0, team_.size() * plan.slices.count), 0, stream);
  team_.waitEvent(team_.recordEvent(stream), pushStream_);
  Tensor me = signalsAt(begun_, team_.rank(), 1);
  for (int distance = 1; distance < team_.size(); ++distance)
    team_.signalWrite(team_.peer(me, peerAt(distance)), 1, pushStream_);
  multiply(plan, a, b, c, stream);
  forOthers([&](int64_t first, int64_t count) {
    Tensor begun = signalsAt(begun_, first, count);
    team_.signalWait(begun, Compare::Eq, 1, pushStream_);
    team_.signalWrite(begun, 0, pushStream_);
  });
  push(plan, a);
  forOthers([&](int64_t first, int64_t count) {
    team_.signalWait(signalsAt(ready_, first * plan.slices.count, count * plan.slices.count), Compare::Eq, 1,
                     pushStream_);
  });
  team_.waitEvent(team_.recordEvent(pushStream_), stream);
}

// The ranks below this one and those above it.
void AllGatherGemm::forOthers(const std::function<void(int64_t first, int64_t count)>& body) const {
  if (team_.rank()) body(0, team_.rank());
  if (int64_t above = team_.size() - 1 - team_.rank()) body(team_.rank() + 1, above);
}

}  // namespace tandem::ops
