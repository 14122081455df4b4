// Host side of grouped GEMM + ReduceScatter.
#include "ops/moe_rs/moe_rs.h"
#include "ops/moe_rs/summed_product.h"

namespace tandem::ops {
namespace tables {

const Table& moe_rs() {
  static const Table table = [] {
    Table t{.name = "moe_rs",
            .className = "MoeRs",
            .what = "out = this rank's tokens of the sum over ranks and slots of h @ w[e]^T, by the route's weights.",
            .sizes = groupedSizes(),
            .types = groupedTypes(),
            .typeWords = kGroupedTypes,
            .tensors = {{.name = "h", .shape = {"m*top_k", "k"}},
                        {.name = "w", .shape = {"experts", "n", "k"}},
                        {.name = "route", .shape = {kRouteWords}, .always = DType::Int32},
                        biasOperand("bias", "n", false),
                        scalesOperand("h_scales", {"m*top_k", "scales(k)"}),
                        scalesOperand("w_scales", {"experts", "scales(n)", "scales(k)"}),
                        {.name = "out", .shape = {"own(m)", "n"}, .isOutput = true, .ofFp8 = DType::BFloat16}},
            .numbers = {{"m", Number::Kind::Rows, "tokens of all ranks"}},
            .options = groupedOptions<MoeRsConfig>()};
    t.sizes[2].isOfRank = true;
    t.options.push_back(sharedOption<MoeRsConfig>());
    addSumsOptions<MoeRsConfig>(t.options);
    t.make = maker<MoeRs, MoeRsConfig, 5>(moe_rs);
    return t;
  }();
  return table;
}

}  // namespace tables

MoeRs::MoeRs(Team& team, int64_t maxM, int64_t n, int64_t k, int64_t experts, int64_t topK, DType dtype,
             const MoeRsConfig& config)
    : Operator(tables::moe_rs(), team, {maxM, n, k, experts, topK}, dtype, &config) {
  product_ = std::make_unique<SummedProduct>(table_, team, memory_, maxM, n, k, experts, topK, dtype, config,
                                             config.parts, config.slotColumns, findings());
}

MoeRs::~MoeRs() = default;

void MoeRs::queue(const Call& call) {
  const auto& t = call.tensors;
  // The ranks' results are summed.
  const Tensor none, &bias = team_.rank() ? none : t[3];
  product_->launch(t[0], t[1], t[2], t[6], call.numbers[0], call.stream, {{bias, t[4], t[5]}, {}});
}

}  // namespace tandem::ops
