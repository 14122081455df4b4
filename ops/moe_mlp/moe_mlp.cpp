// Host side of a mixture of experts: its two halves, one behind the other.
#include "ops/moe_mlp/moe_mlp.h"
#include "ops/ag_moe/ag_moe.h"
#include "ops/cdiv.h"
#include "ops/grouped_gemm/product.h"
#include "ops/moe_rs/moe_rs.h"

namespace tandem::ops {
namespace tables {

const Table& moe_mlp() {
  static const Table table = [] {
    Table t{
        .name = "moe_mlp",
        .className = "MoeMlp",
        .what =
            "out = the sum over a token's experts of weight * down[e] @ act(up[e] @ x); x and out are sharded by rows.",
        .sizes = groupedSizes(),
        .types = groupedTypes(),
        .typeWords = kGroupedTypes,
        .tensors = {{.name = "x", .shape = {"own(m)", "n"}},
                    {.name = "up", .shape = {"experts", "k + gated*k", "n"}},
                    {.name = "down", .shape = {"experts", "n", "k"}},
                    {.name = "route", .shape = {kRouteWords}, .always = DType::Int32},
                    biasOperand("up_bias", "k", true),
                    biasOperand("down_bias", "n", false),
                    scalesOperand("x_scales", {"own(m)", "scales(n)"}),
                    scalesOperand("up_scales", {"experts", "scales(k) + gated*scales(k)", "scales(n)"}),
                    scalesOperand("down_scales", {"experts", "scales(n)", "scales(k)"}),
                    {.name = "out", .shape = {"own(m)", "n"}, .isOutput = true, .ofFp8 = DType::BFloat16}},
        .numbers = {{"m", Number::Kind::Rows, "tokens of all ranks"}},
        .options = groupedOptions<MoeMlpConfig>()};
    t.sizes[1].what = "columns of x and out";
    t.sizes[2] = {"k", "inner columns of this rank", true};
    t.options.push_back(
        option<MoeMlpConfig>("gated", &MoeMlpConfig::gated, "up has gate rows, then up rows; SwiGLU of both", 0, 1));
    t.options.push_back(sharedOption<MoeMlpConfig>());
    t.make = maker<MoeMlp, MoeMlpConfig, 5>(moe_mlp);
    return t;
  }();
  return table;
}

}  // namespace tables

MoeMlp::MoeMlp(Team& team, int64_t maxM, int64_t n, int64_t k, int64_t experts, int64_t topK, DType dtype,
               const MoeMlpConfig& config)
    : Operator(tables::moe_mlp(), team, {maxM, n, k, experts, topK}, dtype, &config), k_(k), topK_(topK) {
  AgMoeConfig up;
  static_cast<GroupedConfig&>(up) = config;
  up.gated = config.gated;
  up.quantised = isFp8(dtype);
  up_ = std::make_unique<AgMoe>(team, maxM, k, n, experts, topK, dtype, up);
  MoeRsConfig down;
  static_cast<GroupedConfig&>(down) = config;
  down_ = std::make_unique<MoeRs>(team, maxM, n, k, experts, topK, dtype, down);
  memory_.share(config.shared);
  if (isFp8(dtype))
    innerScales_ = memory_.localScratch({maxM * topK, cdiv(k, kScaled)}, DType::Float32, "inner scales");
  inner_ = memory_.localScratch({maxM * topK, k}, dtype, "inner");
}

MoeMlp::~MoeMlp() = default;

std::vector<Operator*> MoeMlp::parts() const { return {up_.get(), down_.get()}; }

void MoeMlp::queue(const Call& call) {
  const auto& t = call.tensors;
  int64_t m = call.numbers[0];
  Tensor inner{inner_.address, {m * topK_, k_}, dtype_};
  Tensor innerScales;
  if (innerScales_.address) innerScales = {innerScales_.address, {m * topK_, cdiv(k_, kScaled)}, DType::Float32};
  up_->run(t[0], t[1], t[3], inner, m, call.stream, {t[4], t[6], t[7]}, innerScales);
  down_->run(inner, t[2], t[3], t[9], m, call.stream, {t[5], innerScales, t[8]});
}

}  // namespace tandem::ops
