// Host side of AllGather + GEMM: the shards travel by copy engines on the stream beside the caller's while one kernel multiplies.
//
// That stream waits for the caller's, then pushes the slices of each band, each copy followed by peer.ready[me, band] = how many
// there are now; where a band has no rows all are there. The kernel's last program waits until all of the call has
// arrived, puts `ready` back to 0 and meets its like on the other ranks, so nothing is pushed into what is still read, and no
// signal is set that has yet to be put back. What changes from call to call, the number by which they meet, lives on the
// device: a captured call replays as it is. A write of a signal by a stream takes it about two microseconds: one follows
// each copy, and there are no others.
//
// One stream: copies to several peers at once, by all ranks, are much slower than one after the other, each rank to another peer.
#include "ops/check.h"
#include "ops/kernel_text.h"
#include "ops/planner.h"
#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace tandem::ops {
namespace {

constexpr char kOp[] = "ag_gemm";

// The width of a tile as a sum, the largest first.
std::array<int64_t, kWidthParts> powersOfTwo(int width) {
  std::array<int64_t, kWidthParts> out = {};
  for (int64_t& part : out) width -= int(part = width ? int64_t(std::bit_floor(unsigned(width))) : 0);
  return out;
}

const Kernel& kernel() {
  static const Kernel kernel = Kernel::fromText(kAgGemmText, "ops/ag_gemm/ag_gemm.py", "ag_gemm");
  return kernel;
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
  checkOperator(kOp, maxM, n, k, dtype, config, kWidthParts);
  op_ = team.openOperator(madeFor(kOp, maxM, n, k, dtype), "m");
  planner_ = std::make_unique<Planner>(team, GemmOp::AllGather, n, k, dtype, config);
  TileBounds tiles = tileBounds(config, team.target());
  int64_t shard = shardRows(maxM, team.size());
  pitch_ = (shard + tiles.mostM - 1) / tiles.mostM * tiles.mostM;
  // Row blocks reach behind a shard's last row, into rows that are read and not used.
  gathered_ = team.zeros({team.size() * pitch_, k}, dtype, "ag_gemm gathered");
  ready_ = team.zeros({team.size() * kMostBands}, DType::Int64, "ag_gemm ready");
  done_ = team.zeros({team.size()}, DType::Int64, "ag_gemm done");
  ended_ = team.localZeros({1}, DType::Int32, "ag_gemm ended");
  epoch_ = team.localZeros({1}, DType::Int64, "ag_gemm epoch");
  pieces_ = team.localZeros({mostPieces(config, team.residentPrograms()), tiles.mostM * tiles.mostN}, DType::Float32,
                            "ag_gemm pieces");
  brought_ = team.localZeros({team.residentPrograms()}, DType::Int32, "ag_gemm brought");
}

AllGatherGemm::~AllGatherGemm() = default;

void AllGatherGemm::close() {
  if (std::exchange(closed_, true)) return;
  team_.barrier();
  for (const Tensor& t : {gathered_, ready_, done_, ended_, epoch_, pieces_, brought_}) team_.release(t);
}

AllGatherGemm::Plan AllGatherGemm::planned(const Tensor& a, const Tensor& b, const Tensor& c, int64_t m) const {
  Plan plan{.m = m, .shard = shardRows(m, team_.size()), .ownRows = a.shape[0]};
  plan.blocks =
      copiesBlocks({plan.ownRows ? a : gathered_, gathered_, b, c}, dtype_, config_.bTransposed, team_.target());
  const GemmChoice& choice = planner_->choose(m, plan.blocks);
  plan.config = choice.config;
  plan.slices = choice.slices;
  return plan;
}

void AllGatherGemm::multiply(const Plan& plan, const Tensor& a, const Tensor& b, const Tensor& c, int stream) {
  const GemmConfig& config = plan.config;
  LaunchConfig launch{
      .grid = {config.programs, 1, 1}, .numWarps = config.numWarps, .stream = stream, .numStages = config.numStages};
  std::array<int64_t, kWidthParts> widths = powersOfTwo(config.blockN);
  team_.launch(kernel(), launch,
               {plan.ownRows ? a : gathered_, gathered_, b, c, ready_, pieces_, brought_, done_, ended_, epoch_, plan.m,
                n_, k_, std::max<int64_t>(plan.ownRows, 1), plan.shard, pitch_, team_.size() * pitch_,
                plan.slices.bands, plan.slices.bandRows},
               {{"BLOCK_M", int64_t(config.blockM)},
                {"BLOCK_N", widths[0]},
                {"BLOCK_N1", widths[1]},
                {"BLOCK_N2", widths[2]},
                {"BLOCK_K", int64_t(config.blockK)},
                {"SLICE_STEPS", plan.slices.columns / config.blockK},
                {"GROUP", int64_t(config.group)},
                {"PIECES", int64_t(config.pieces)},
                {"PROGRAMS", int64_t(config.programs)},
                {"BLOCKS", plan.blocks},
                {"WHOLE_BLOCKS", plan.shard % config.blockM == 0},
                {"B_TRANSPOSED", config.bTransposed}});
}

void AllGatherGemm::push(const Plan& plan, const Tensor& a, int stream) {
  const Slices& slices = plan.slices;
  int64_t rowBytes = k_ * byteSize(dtype_);
  size_t nth = 0;
  for (int distance = 1; distance < team_.size(); ++distance)
    for (int64_t band = 0; band < slices.bands; ++band) {
      int64_t top = band * slices.bandRows, rows = std::clamp<int64_t>(plan.ownRows - top, 0, slices.bandRows);
      int64_t counter = team_.rank() * slices.bands + band, slice = 0;
      Tensor mine{ready_.address + uint64_t(counter * byteSize(ready_.dtype)), {1}, ready_.dtype};
      Tensor from{a.address + uint64_t(top * rowBytes), {rows, k_}, dtype_};
      Tensor there{gathered_.address + uint64_t((team_.rank() * pitch_ + top) * rowBytes), from.shape, dtype_};
      for (int count : slices.copies[nth++]) {
        int64_t first = slice * slices.columns, columns = std::min(count * slices.columns, k_ - first);
        if (rows && columns == k_)
          team_.copy(team_.peer(there, peerAt(distance)), from, stream);
        else if (rows)
          team_.copyColumns(team_.peer(there, peerAt(distance)), from, first, columns, stream);
        slice += count;
        if (rows || slice == slices.count)
          team_.signalWrite(team_.peer(mine, peerAt(distance)), uint64_t(slice), stream);
      }
    }
}

void AllGatherGemm::run(const Tensor& a, const Tensor& b, const Tensor& c, int64_t m, int stream) {
  checkOpen(kOp, closed_);
  checkRows(kOp, m, maxM_);
  checkShape(kOp, "a", a, rowsOfRank(m, team_.size(), team_.rank()), k_);
  checkShape(kOp, "b", b, config_.bTransposed ? n_ : k_, config_.bTransposed ? k_ : n_);
  checkShape(kOp, "c", c, m, n_);
  checkDType(kOp, "a", a, dtype_);
  checkDType(kOp, "b", b, dtype_);
  checkResult(kOp, "c", c);
  team_.callOperator(op_, stream, {m});
  Plan plan = planned(a, b, c, m);
  if (team_.size() == 1) return multiply(plan, a, b, c, stream);

  int beside = team_.streamBeside(stream);
  team_.waitEvent(team_.recordEvent(stream), beside);
  multiply(plan, a, b, c, stream);
  push(plan, a, beside);
  team_.waitEvent(team_.recordEvent(beside), stream);
}

TunedGemm AllGatherGemm::tune(const Tensor& a, const Tensor& b, const Tensor& c, int64_t m, int stream) {
  return planner_->tune(m, stream, [&] { run(a, b, c, m, stream); });
}

}  // namespace tandem::ops
