// Host side of AllGather + grouped GEMM: one kernel multiplies while the shards come.
#include "ops/ag_moe/ag_moe.h"
#include "ops/ag_moe/gathered_product.h"
#include "ops/all_gather/all_gather.h"
#include "ops/cdiv.h"
#include <algorithm>

namespace tandem::ops {
namespace tables {

const Table& ag_moe() {
  static const Table table = [] {
    Table t = firstGroupedTable(
        "ag_moe", "AgMoe",
        "out = the rows of each expert of gather(x) times that expert's matrix w[e]^T; x is sharded by rows.", "own(m)",
        "tokens of all ranks");
    t.options = groupedOptions<AgMoeConfig>();
    t.sizes[1].isOfRank = true;
    t.options.push_back(
        option<AgMoeConfig>("gated", &AgMoeConfig::gated, "w has gate rows, then up rows; SwiGLU of both", 0, 1));
    t.options.push_back(quantisedOption<AgMoeConfig>(&AgMoeConfig::quantised));
    t.options.push_back(option<AgMoeConfig>("ordered", &AgMoeConfig::ordered,
                                            "1: rows are copied into the route's order, then multiplied", 0, 1, -1));
    t.options.push_back(sharedOption<AgMoeConfig>());
    t.options.push_back(
        option<AgMoeConfig>("packets_bytes", &AgMoeConfig::packetsBytes,
                            "shards of at most so many bytes travel in packets, ahead of all products"));
    t.make = maker<AgMoe, AgMoeConfig, 5>(ag_moe);
    return t;
  }();
  return table;
}

}  // namespace tables

AgMoe::AgMoe(Team& team, int64_t maxM, int64_t n, int64_t k, int64_t experts, int64_t topK, DType dtype,
             const AgMoeConfig& config)
    : Operator(tables::ag_moe(), team, {maxM, n, k, experts, topK}, dtype, &config) {
  constexpr int64_t kPacketsBytes = 2 << 20;
  int64_t bytes = config.packetsBytes ? config.packetsBytes : team.target() == "sim" ? 0 : kPacketsBytes;
  if (team.size() > 1 && config.ordered != 1) few_ = std::min(maxM, bytes / (k * byteSize(dtype)) * team.size());
  memory_.share(config.shared);
  if (few_) {
    gather_ = std::make_unique<AllGather>(team, few_, k, dtype);
    rows_ = memory_.localScratch({few_, k}, dtype, "few rows");
    if (isFp8(dtype)) {
      gatherScales_ = std::make_unique<AllGather>(team, few_, cdiv(k, kScaled), DType::Float32);
      scales_ = memory_.localScratch({few_, cdiv(k, kScaled)}, DType::Float32, "few rows' scales");
    }
    GroupedWay way{.gated = config.gated, .gather = true, .quantise = config.quantised};
    fewProduct_ = std::make_unique<GroupedProduct>(table_, team, &memory_, few_, n, k, experts, topK, dtype, config,
                                                   way, findings());
  }
  product_ =
      std::make_unique<GatheredProduct>(table_, team, memory_, maxM, n, k, experts, topK, dtype, config, findings());
}

AgMoe::~AgMoe() = default;

std::vector<Operator*> AgMoe::parts() const {
  std::vector<Operator*> out;
  for (Operator* op : {gather_.get(), gatherScales_.get()})
    if (op) out.push_back(op);
  return out;
}

void AgMoe::queue(const Call& call) {
  const Tensor &x = call.tensors[0], &w = call.tensors[1], &route = call.tensors[2], &out = call.tensors[7];
  int64_t m = call.numbers[0];
  GroupedProduct::More more{{call.tensors[3], call.tensors[4], call.tensors[5]}, call.tensors[6]};
  if (!m || m > few_) return product_->launch(x, w, out, route, m, call.stream, more);
  Tensor rows{rows_.address, {m, rows_.shape[1]}, rows_.dtype};
  gather_->run(x, rows, m, call.stream);
  if (gatherScales_) {
    Tensor scales{scales_.address, {m, scales_.shape[1]}, scales_.dtype};
    gatherScales_->run(more.xScales, scales, m, call.stream);
    more.xScales = scales;
  }
  fewProduct_->launch(rows, w, out, route, m, call.stream, more);
}

}  // namespace tandem::ops
