// Host side of AllGather + grouped GEMM: the shards travel by copy engines on the stream beside the caller's while one
// kernel multiplies, as in ops/ag_gemm. That stream waits for the caller's, then pushes the shard to the nearest rank
// after this one, sets its ready[me] to 1, and goes on with the next rank. The kernel's last program waits until all
// have arrived, puts `ready` back to 0 and meets its like on the other ranks; so a captured call replays as it is.
#include "ops/ag_moe/ag_moe.h"
#include "ops/ag_moe/row_order.h"
#include "ops/cdiv.h"
#include "ops/gemm_choice.h"
#include "ops/grouped_gemm/product.h"
#include "ops/kernel_text.h"
#include "ops/machine_of_ranks.h"
#include <utility>

namespace tandem::ops {
namespace tables {

const Table& ag_moe() {
  static const Table table = [] {
    Table t{
        .name = "ag_moe",
        .className = "AgMoe",
        .what = "out = the rows of each expert of gather(x) times that expert's matrix w[e]^T; x is sharded by rows.",
        .sizes = groupedSizes(),
        .types = groupedTypes(),
        .typeWords = kGroupedTypes,
        .tensors = {{.name = "x", .shape = {"own(m)", "k"}},
                    {.name = "w", .shape = {"experts", "n + gated*n", "k"}},
                    {.name = "route", .shape = {kRouteWords}, .always = DType::Int32},
                    biasOperand("bias", "n", true),
                    scalesOperand("x_scales", {"own(m)", "scales(k)"}),
                    scalesOperand("w_scales", {"experts", "scales(n) + gated*scales(n)", "scales(k)"}),
                    outScalesOperand("n"),
                    {.name = "out",
                     .shape = {"m*top_k", "n"},
                     .isOutput = true,
                     .ofFp8 = DType::BFloat16,
                     .quantisedBy = "quantised"}},
        .numbers = {{"m", Number::Kind::Rows, "tokens of all ranks"}},
        .options = groupedOptions<AgMoeConfig>()};
    t.sizes[1].isOfRank = true;
    t.options.push_back(
        option<AgMoeConfig>("gated", &AgMoeConfig::gated, "w has gate rows, then up rows; SwiGLU of both", 0, 1));
    t.options.push_back(quantisedOption<AgMoeConfig>(&AgMoeConfig::quantised));
    t.options.push_back(option<AgMoeConfig>("ordered", &AgMoeConfig::ordered,
                                            "1: rows are copied into the route's order, then multiplied", 0, 1, -1));
    t.options.push_back(sharedOption<AgMoeConfig>());
    t.make = maker<AgMoe, AgMoeConfig, 5>(ag_moe);
    return t;
  }();
  return table;
}

}  // namespace tables

AgMoe::AgMoe(Team& team, int64_t maxM, int64_t n, int64_t k, int64_t experts, int64_t topK, DType dtype,
             const AgMoeConfig& config)
    : Operator(tables::ag_moe(), team, {maxM, n, k, experts, topK}, dtype, &config), k_(k), experts_(experts),
      topK_(topK) {
  RowSizes sizes{maxM, n * (config.gated ? 2 : 1), k, experts, topK, team.size(), dtype};
  isOrdered_ = config.ordered == 1;
  if (config.ordered < 0 && team.target() != "sim")
    isOrdered_ = isQuickerOrdered(sizes, blockRows(maxM * topK, experts, config, team.target()), machineOfRanks(team));
  GroupedWay way{.gated = config.gated, .gather = !isOrdered_, .quantise = config.quantised};
  product_ = std::make_unique<GroupedProduct>(table_, team, n, k, experts, topK, dtype, config, way, findings());
  memory_.share(config.shared);
  if (isOrdered_) ordered_ = memory_.localScratch({maxM * topK, k}, dtype, "ordered");
  if (isOrdered_ && isFp8(dtype))
    orderedScales_ = memory_.localScratch({maxM * topK, cdiv(k, kScaled)}, DType::Float32, "ordered scales");
  gathered_ = memory_.symmetricScratch({team.size() * shardRows(maxM, team.size()), k}, dtype, "gathered");
  if (isFp8(dtype))
    gatheredScales_ = memory_.symmetricScratch({team.size() * shardRows(maxM, team.size()), cdiv(k, kScaled)},
                                               DType::Float32, "gathered scales");
  ready_ = memory_.symmetricZeros({team.size()}, DType::Int64, "ready");
  done_ = memory_.symmetricZeros({team.size()}, DType::Int64, "done");
  ended_ = memory_.localZeros({1}, DType::Int32, "ended");
  epoch_ = memory_.localZeros({1}, DType::Int64, "epoch");
}

AgMoe::~AgMoe() = default;

void AgMoe::push(const Tensor& x, const Tensor& scales, int64_t m, int stream) {
  auto behind = [&](const Tensor& gathered, const Tensor& own) {
    int64_t first = team_.rank() * shardRows(m, team_.size()) * gathered.shape[1];
    return Tensor{gathered.address + uint64_t(first * byteSize(own.dtype)), own.shape, own.dtype};
  };
  Tensor ready{ready_.address + uint64_t(team_.rank()) * 8, {1}, DType::Int64};
  for (int distance = 1; distance < team_.size(); ++distance) {
    int peer = (team_.rank() + distance) % team_.size();
    if (x.size()) team_.copy(team_.peer(behind(gathered_, x), peer), x, stream);
    if (x.size() && scales.address) team_.copy(team_.peer(behind(gatheredScales_, scales), peer), scales, stream);
    team_.signalWrite(team_.peer(ready, peer), 1, stream);
  }
}

// `x` is this rank's shard; the others come into `gathered_`, where this rank is not alone.
void AgMoe::order(const Tensor& x, const Tensor& scales, const Tensor& route, int64_t m, int stream) {
  bool simulated = team_.target() == "sim", isAwaited = team_.size() > 1, isScaled = isFp8(dtype_);
  int64_t shard = shardRows(m, team_.size()), apart = 0, apartScales = 0;
  if (isAwaited && x.size()) {
    apart = (int64_t(x.address) - int64_t(gathered_.address)) / byteSize(dtype_) - team_.rank() * shard * k_;
    if (isScaled)
      apartScales =
          (int64_t(scales.address) - int64_t(gatheredScales_.address)) / 4 - team_.rank() * shard * cdiv(k_, kScaled);
  }
  int programs = simulated ? 4 : 8 * team_.residentPrograms();
  const Tensor &from = isAwaited ? gathered_ : x, &fromScales = isAwaited ? gatheredScales_ : scales;
  team_.launch(kernelOf("ops/ag_moe/ag_moe.py", "order_rows"),
               {.grid = {programs, 1, 1}, .numWarps = simulated ? 2 : 4, .stream = stream},
               {from, isScaled ? fromScales : route, ordered_, isScaled ? orderedScales_ : route, route, ready_, done_,
                ended_, epoch_, findings(), m, k_, shard, apart, apartScales},
               {{"PROGRAMS", int64_t(programs)},
                {"E", experts_},
                {"TOP_K", topK_},
                {"BLOCK_M", product_->tileRows(m)},
                {"ROWS", std::min<int64_t>(product_->tileRows(m), 16)},
                {"COLUMNS", int64_t(simulated ? 32 : 256)},
                {"SCALED", isScaled},
                {"AWAITED", isAwaited}});
}

void AgMoe::queue(const Call& call) {
  const Tensor &x = call.tensors[0], &w = call.tensors[1], &route = call.tensors[2], &out = call.tensors[7];
  int64_t m = call.numbers[0];
  GroupedProduct::More more{{call.tensors[3], call.tensors[4], call.tensors[5]}, call.tensors[6]};
  if (team_.size() == 1 && !isOrdered_) return product_->launch(x, w, out, route, m, call.stream, more);

  int beside = call.stream;
  if (team_.size() > 1) {
    beside = team_.streamBeside(call.stream);
    team_.waitEvent(team_.recordEvent(call.stream), beside);
  }
  Tensor ownScales = std::exchange(more.xScales, isOrdered_ ? orderedScales_ : gatheredScales_);
  if (isOrdered_) {
    order(x, ownScales, route, m, call.stream);
    // Before the product, whose code may have to be loaded, for which a device may finish what it runs: peers wait for the shard.
    if (team_.size() > 1) push(x, ownScales, m, beside);
    product_->launch(ordered_, w, out, route, m, call.stream, more);
  } else {
    GroupedProduct::Awaited awaited{
        x.size() ? x : gathered_,  x.size() ? ownScales : gatheredScales_, ready_, done_, ended_, epoch_,
        shardRows(m, team_.size())};
    product_->launch(gathered_, w, out, route, m, call.stream, more, &awaited);
    push(x, ownScales, m, beside);
  }
  if (team_.size() > 1) team_.waitEvent(team_.recordEvent(beside), call.stream);
}

}  // namespace tandem::ops
