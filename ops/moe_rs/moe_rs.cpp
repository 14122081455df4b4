// Host side of grouped GEMM + ReduceScatter.
#include "ops/moe_rs/moe_rs.h"
#include "ops/cdiv.h"
#include "ops/gemm_choice.h"
#include "ops/moe_ar/slot_sums.h"
#include "ops/moe_rs/summed_product.h"
#include "ops/reduce_scatter/reduce_scatter.h"
#include <algorithm>

namespace tandem::ops {
namespace tables {

const Table& moe_rs() {
  static const Table table = [] {
    Table t = secondGroupedTable(
        "moe_rs", "MoeRs",
        "out = this rank's tokens of the sum over ranks and slots of h @ w[e]^T, by the route's weights.", "own(m)",
        "tokens of all ranks");
    t.options = groupedOptions<MoeRsConfig>();
    t.sizes[2].isOfRank = true;
    t.options.push_back(sharedOption<MoeRsConfig>());
    addSumsOptions<MoeRsConfig>(t.options);
    t.options.push_back(
        option<MoeRsConfig>("packets_bytes", &MoeRsConfig::packetsBytes,
                            "sums of a rank's tokens of at most so many bytes travel in packets, behind all products"));
    t.make = maker<MoeRs, MoeRsConfig, 5>(moe_rs);
    return t;
  }();
  return table;
}

}  // namespace tables

MoeRs::MoeRs(Team& team, int64_t maxM, int64_t n, int64_t k, int64_t experts, int64_t topK, DType dtype,
             const MoeRsConfig& config)
    : Operator(tables::moe_rs(), team, {maxM, n, k, experts, topK}, dtype, &config), n_(n) {
  constexpr int64_t kPacketsBytes = 2 << 20;
  int64_t bytes = config.packetsBytes ? config.packetsBytes : team.target() == "sim" ? 0 : kPacketsBytes;
  DType type = partType(dtype);
  if (team.size() > 1) few_ = std::min(maxM, bytes / (n * byteSize(type)) * team.size());
  if (few_) {
    slotSums_ = std::make_unique<SlotSums>(table_, team, memory_, few_, n, k, experts, topK, dtype, config, findings());
    reduce_ = std::make_unique<ReduceScatter>(team, few_, n, type);
    sums_ = memory_.localScratch({few_, n}, type, "sums");
  }
  product_ = std::make_unique<SummedProduct>(table_, team, memory_, maxM, n, k, experts, topK, dtype, config,
                                             config.parts, config.slotColumns, findings());
}

MoeRs::~MoeRs() = default;

std::vector<Operator*> MoeRs::parts() const {
  return reduce_ ? std::vector<Operator*>{reduce_.get()} : std::vector<Operator*>();
}

void MoeRs::queue(const Call& call) {
  const auto& t = call.tensors;
  // The ranks' results are summed.
  const Tensor none, &bias = team_.rank() ? none : t[3];
  GroupedProduct::More more{{bias, t[4], t[5]}, {}};
  int64_t m = call.numbers[0];
  if (!m || m > few_) return product_->launch(t[0], t[1], t[2], t[6], m, call.stream, more);
  Tensor sums{sums_.address, {m, n_}, partType(dtype_)};
  slotSums_->launch(t[0], t[1], t[2], sums, m, call.stream, more);
  reduce_->run(sums, t[6], m, call.stream);
}

}  // namespace tandem::ops
