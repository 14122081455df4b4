// Host side of AllGather + grouped GEMM: the shards travel by copy engines on the stream beside the caller's while one
// kernel multiplies, as in ops/ag_gemm. That stream waits for the caller's, then pushes the shard to the nearest rank
// after this one, sets its ready[me] to 1, and goes on with the next rank. The kernel's last program waits until all
// have arrived, puts `ready` back to 0 and meets its like on the other ranks; so a captured call replays as it is.
#include "ops/ag_moe/ag_moe.h"
#include "ops/grouped_gemm/product.h"

namespace tandem::ops {
namespace tables {

const Table& ag_moe() {
  static const Table table = [] {
    Table t{
        .name = "ag_moe",
        .className = "AgMoe",
        .what = "out = the rows of each expert of gather(x) times that expert's matrix w[e]^T; x is sharded by rows.",
        .sizes = groupedSizes(),
        .types = summedTypes(),
        .typeWords = "fp16, bf16 or fp32",
        .tensors = {{.name = "x", .shape = {"own(m)", "k"}},
                    {.name = "w", .shape = {"experts", "n + gated*n", "k"}},
                    {.name = "route", .shape = {kRouteWords}, .always = DType::Int32},
                    {.name = "out", .shape = {"m*top_k", "n"}, .isOutput = true}},
        .numbers = {{"m", Number::Kind::Rows, "tokens of all ranks"}},
        .options = groupedOptions<AgMoeConfig>()};
    t.options.push_back(
        option<AgMoeConfig>("gated", &AgMoeConfig::gated, "w has gate rows, then up rows; SwiGLU of both", 0, 1));
    t.make = maker<AgMoe, AgMoeConfig, 5>(ag_moe);
    return t;
  }();
  return table;
}

}  // namespace tables

AgMoe::AgMoe(Team& team, int64_t maxM, int64_t n, int64_t k, int64_t experts, int64_t topK, DType dtype,
             const AgMoeConfig& config)
    : Operator(tables::ag_moe(), team, {maxM, n, k, experts, topK}, dtype, &config), k_(k) {
  product_ = std::make_unique<GroupedProduct>(table_, team, n, k, experts, topK, dtype, config,
                                              GroupedWay{.gated = config.gated, .gather = true});
  gathered_ = memory_.symmetricZeros({team.size() * shardRows(maxM, team.size()), k}, dtype, "gathered");
  ready_ = memory_.symmetricZeros({team.size()}, DType::Int64, "ready");
  done_ = memory_.symmetricZeros({team.size()}, DType::Int64, "done");
  ended_ = memory_.localZeros({1}, DType::Int32, "ended");
  epoch_ = memory_.localZeros({1}, DType::Int64, "epoch");
}

AgMoe::~AgMoe() = default;

void AgMoe::push(const Tensor& x, int64_t m, int stream) {
  int64_t rowBytes = k_ * byteSize(dtype_), first = team_.rank() * shardRows(m, team_.size());
  Tensor there{gathered_.address + uint64_t(first * rowBytes), x.shape, dtype_};
  Tensor ready{ready_.address + uint64_t(team_.rank()) * 8, {1}, DType::Int64};
  for (int distance = 1; distance < team_.size(); ++distance) {
    int peer = (team_.rank() + distance) % team_.size();
    if (x.size()) team_.copy(team_.peer(there, peer), x, stream);
    team_.signalWrite(team_.peer(ready, peer), 1, stream);
  }
}

void AgMoe::queue(const Call& call) {
  const Tensor &x = call.tensors[0], &w = call.tensors[1], &route = call.tensors[2], &out = call.tensors[3];
  int64_t m = call.numbers[0];
  if (team_.size() == 1) return product_->launch(x, w, out, route, m, call.stream);

  int beside = team_.streamBeside(call.stream);
  team_.waitEvent(team_.recordEvent(call.stream), beside);
  GroupedProduct::Awaited awaited{x.size() ? x : gathered_, ready_, done_, ended_, epoch_, shardRows(m, team_.size())};
  product_->launch(gathered_, w, out, route, m, call.stream, &awaited);
  push(x, m, beside);
  team_.waitEvent(team_.recordEvent(beside), call.stream);
}

}  // namespace tandem::ops
