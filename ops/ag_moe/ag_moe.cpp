// Host side of AllGather + grouped GEMM: the shards travel by copy engines on the stream beside the caller's while one
// kernel multiplies, as in ops/ag_gemm. That stream waits for the caller's, then pushes the shard to the nearest rank
// after this one, sets its ready[me] to 1, and goes on with the next rank. The kernel's last program waits until all
// have arrived, puts `ready` back to 0 and meets its like on the other ranks; so a captured call replays as it is.
#include "ops/ag_moe/ag_moe.h"
#include "ops/cdiv.h"
#include "ops/grouped_gemm/product.h"
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
    t.options.push_back(
        option<AgMoeConfig>("gated", &AgMoeConfig::gated, "w has gate rows, then up rows; SwiGLU of both", 0, 1));
    t.options.push_back(quantisedOption<AgMoeConfig>(&AgMoeConfig::quantised));
    t.options.push_back(sharedOption<AgMoeConfig>());
    t.make = maker<AgMoe, AgMoeConfig, 5>(ag_moe);
    return t;
  }();
  return table;
}

}  // namespace tables

AgMoe::AgMoe(Team& team, int64_t maxM, int64_t n, int64_t k, int64_t experts, int64_t topK, DType dtype,
             const AgMoeConfig& config)
    : Operator(tables::ag_moe(), team, {maxM, n, k, experts, topK}, dtype, &config), k_(k) {
  product_ = std::make_unique<GroupedProduct>(
      table_, team, n, k, experts, topK, dtype, config,
      GroupedWay{.gated = config.gated, .gather = true, .quantise = config.quantised}, findings());
  memory_.share(config.shared);
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

void AgMoe::queue(const Call& call) {
  const Tensor &x = call.tensors[0], &w = call.tensors[1], &route = call.tensors[2], &out = call.tensors[7];
  int64_t m = call.numbers[0];
  GroupedProduct::More more{{call.tensors[3], call.tensors[4], call.tensors[5]}, call.tensors[6]};
  if (team_.size() == 1) return product_->launch(x, w, out, route, m, call.stream, more);

  int beside = team_.streamBeside(call.stream);
  team_.waitEvent(team_.recordEvent(call.stream), beside);
  Tensor ownScales = std::exchange(more.xScales, gatheredScales_);
  GroupedProduct::Awaited awaited{
      x.size() ? x : gathered_,  x.size() ? ownScales : gatheredScales_, ready_, done_, ended_, epoch_,
      shardRows(m, team_.size())};
  product_->launch(gathered_, w, out, route, m, call.stream, more, &awaited);
  push(x, ownScales, m, beside);
  team_.waitEvent(team_.recordEvent(beside), call.stream);
}

}  // namespace tandem::ops
