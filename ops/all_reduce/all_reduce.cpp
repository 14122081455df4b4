// Host side of all-reduce.
#include "ops/check.h"
#include "ops/collective.h"
#include "ops/kernel_text.h"
#include "ops/machine_of_ranks.h"
#include "ops/words/words.h"
#include <algorithm>
#include <limits>
#include <utility>

namespace tandem::ops {
namespace {

constexpr char kOp[] = "all_reduce";

const Kernel& kernel() {
  static const Kernel kernel = Kernel::fromText(kTwoShotText, "ops/all_reduce/two_shot.py", "two_shot");
  return kernel;
}

// One shot sends (R - 1) · S twice, as half of a word is its flag; two shots in words send 4 · S · (R - 1) / R in two flights; chunks
// send half of that, with a fence and a signal more in each flight. So the sizes from which the next one is quicker go as what the link
// carries during a flight: `reach` times what was measured on the machine of the defaults.
int64_t mostBytes(AllReduceWay way, int ranks, double reach) {
  switch (way) {
    case AllReduceWay::OneShot: return int64_t(reach * (ranks <= 2 ? 512 << 10 : ranks <= 4 ? 128 << 10 : 64 << 10));
    case AllReduceWay::TwoShotWords: return int64_t(reach * (512 << 10));
    default: return std::numeric_limits<int64_t>::max();
  }
}

// Within what a machine may be: the memory for words goes with it.
double reachOf(const Machine& machine) {
  constexpr double kMost = 16;
  const Machine measured;
  double reach = machine.roundTripUs * machine.storeBytes / (measured.roundTripUs * measured.storeBytes);
  return std::clamp(reach, 1 / kMost, kMost);
}

AllReduceWay wayFor(int64_t bytes, int ranks, double reach) {
  for (AllReduceWay way : {AllReduceWay::OneShot, AllReduceWay::TwoShotWords})
    if (bytes <= mostBytes(way, ranks, reach)) return way;
  return AllReduceWay::TwoShot;
}

}  // namespace

AllReduceWay allReduceWay(int64_t bytes, int ranks) { return wayFor(bytes, ranks, 1); }

AllReduce::AllReduce(Team& team, int64_t maxElements, DType dtype, AllReduceWay way, const CollectiveConfig& config)
    : team_(team), maxElements_(maxElements), dtype_(dtype), way_(way) {
  checkPositive(kOp, "max_elements", maxElements);
  checkSummed(kOp, dtype);
  checkBytes(kOp, maxElements, 1, dtype);
  checkConfig(kOp, config);
  if (way > AllReduceWay::TwoShot) throw Error("`all_reduce`: there is no way " + std::to_string(int(way)));
  op_ = team.openOperator(madeFor(kOp, std::to_string(maxElements), dtype, config) + ", way " + std::to_string(int(way)),
                          "elements,symmetric_out");
  given_ = config;
  config_ = completed(config, team);
  reach_ = reachOf(machineOfRanks(team));
  // The most elements that go a way; 0: none do.
  auto elementsBy = [&](AllReduceWay wanted) -> int64_t {
    if (way == wanted) return maxElements;
    if (way != AllReduceWay::Auto || wanted > wayFor(maxElements * byteSize(dtype), team.size(), reach_)) return 0;
    return std::min(maxElements, mostBytes(wanted, team.size(), reach_) / byteSize(dtype));
  };
  int ranks = team.size();
  if (int64_t n = elementsBy(AllReduceWay::OneShot))
    words_ = std::make_unique<Words>(team, cdiv(n, elementsOfPacket(dtype)), config, "all_reduce");
  if (int64_t n = elementsBy(AllReduceWay::TwoShotWords))
    sharedWords_ = std::make_unique<Words>(team, cdiv(shardElements(n, ranks), elementsOfPacket(dtype)), config,
                                           "all_reduce shared");
  if (!elementsBy(AllReduceWay::TwoShot)) return;
  int64_t shard = shardElements(maxElements, ranks);
  mostChunks_ = mostChunks(config_, shard, dtype);
  parts_ = team.empty({ranks, shard}, dtype, "all_reduce parts");
  sums_ = team.empty({ranks, shard}, dtype, "all_reduce sums");
  ready_ = team.zeros({config_.programs * mostChunks_ * ranks}, DType::Int64, "all_reduce ready");
  done_ = team.zeros({config_.programs * mostChunks_ * ranks}, DType::Int64, "all_reduce done");
  epochs_ = team.localZeros({config_.programs}, DType::Int64, "all_reduce calls");
}

AllReduce::~AllReduce() = default;

void AllReduce::close() {
  if (std::exchange(closed_, true)) return;
  team_.barrier();
  for (Words* words : {words_.get(), sharedWords_.get()})
    if (words) words->release();
  if (mostChunks_)
    for (const Tensor& t : {parts_, sums_, ready_, done_, epochs_}) team_.release(t);
}

void AllReduce::run(const Tensor& x, const Tensor& out, int stream, bool symmetricOut) {
  checkOpen(kOp, closed_);
  int64_t n = x.size();
  if (n < 1 || n > maxElements_)
    throw Error("`all_reduce`: `x` has " + std::to_string(n) + " elements, the operator was made for 1 to " +
                std::to_string(maxElements_));
  checkSize(kOp, "x", x, n, dtype_);
  checkSize(kOp, "out", out, n, dtype_);
  team_.callOperator(op_, stream, {n, symmetricOut});
  AllReduceWay way = way_ == AllReduceWay::Auto ? wayFor(x.bytes(), team_.size(), reach_) : way_;
  int64_t each = elementsOfPacket(dtype_), shard = shardElements(n, team_.size());
  switch (way) {
    case AllReduceWay::OneShot: return words_->launch(wordsKernel("one_shot"), x, out, {n}, cdiv(n, each), stream);
    case AllReduceWay::TwoShotWords:
      return sharedWords_->launch(wordsKernel("two_shot_words"), x, out, {n, shard}, cdiv(shard, each), stream);
    default: return runTwoShot(x, out, stream, symmetricOut);
  }
}

void AllReduce::runTwoShot(const Tensor& x, const Tensor& out, int stream, bool symmetricOut) {
  int64_t n = x.size(), shard = shardElements(n, team_.size());
  CollectiveConfig config = sized(given_, config_, shard * byteSize(dtype_), team_);
  int64_t chunk = chunkElements(config, shard, dtype_);
  LaunchConfig launch{.grid = {config.programs, 1, 1}, .numWarps = config.numWarps, .stream = stream};
  team_.launch(
      kernel(), launch, {x, out, parts_, sums_, ready_, done_, epochs_, n, shard, chunk, mostChunks_},
      {{"RANKS", int64_t(team_.size())}, {"TILE", tileElements(config, chunk, dtype_)}, {"DIRECT", symmetricOut}});
}

}  // namespace tandem::ops
