// Host side of grouped GEMM + AllReduce: the product, the sums over slots, and ops/all_reduce, one behind the other.
#include "ops/moe_ar/moe_ar.h"
#include "ops/all_reduce/all_reduce.h"
#include "ops/gemm_choice.h"
#include "ops/moe_ar/slot_sums.h"

namespace tandem::ops {
namespace tables {

const Table& moe_ar() {
  static const Table table = [] {
    Table t = secondGroupedTable(
        "moe_ar", "MoeAr",
        "out[m, n] = the sum over ranks and slots of h @ w[e]^T, by the route's weights, on every rank.", "m",
        "tokens");
    t.options = groupedOptions<GroupedConfig>();
    t.sizes[2].isOfRank = true;
    t.options.push_back(sharedOption<GroupedConfig>());
    t.make = maker<MoeAr, GroupedConfig, 5>(moe_ar);
    return t;
  }();
  return table;
}

}  // namespace tables

MoeAr::MoeAr(Team& team, int64_t maxM, int64_t n, int64_t k, int64_t experts, int64_t topK, DType dtype,
             const GroupedConfig& config)
    : Operator(tables::moe_ar(), team, {maxM, n, k, experts, topK}, dtype, &config), n_(n) {
  slotSums_ = std::make_unique<SlotSums>(table_, team, memory_, maxM, n, k, experts, topK, dtype, config, findings());
  reduce_ = std::make_unique<AllReduce>(team, maxM * n, partType(dtype));
  sums_ = memory_.localScratch({maxM, n}, partType(dtype), "sums");
}

MoeAr::~MoeAr() = default;

std::vector<Operator*> MoeAr::parts() const { return {reduce_.get()}; }

void MoeAr::queue(const Call& call) {
  const auto& t = call.tensors;
  // The ranks' results are summed.
  const Tensor none, &bias = team_.rank() ? none : t[3];
  int64_t m = call.numbers[0];
  Tensor sums{sums_.address, {m, n_}, partType(dtype_)};
  slotSums_->launch(t[0], t[1], t[2], team_.size() > 1 ? sums : t[6], m, call.stream, {{bias, t[4], t[5]}, {}});
  if (team_.size() > 1) reduce_->run(sums, t[6], call.stream);
}

}  // namespace tandem::ops
