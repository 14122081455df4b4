// Host side of a mixture of experts: its two halves, one behind the other.
#include "ops/moe_mlp/moe_mlp.h"
#include "ops/ag_moe/ag_moe.h"
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
        .types = summedTypes(),
        .typeWords = "fp16, bf16 or fp32",
        .tensors = {{.name = "x", .shape = {"own(m)", "n"}},
                    {.name = "up", .shape = {"experts", "k + gated*k", "n"}},
                    {.name = "down", .shape = {"experts", "n", "k"}},
                    {.name = "route", .shape = {kRouteWords}, .always = DType::Int32},
                    {.name = "out", .shape = {"own(m)", "n"}, .isOutput = true}},
        .numbers = {{"m", Number::Kind::Rows, "tokens of all ranks"}},
        .options = groupedOptions<MoeMlpConfig>()};
    t.sizes[1].what = "columns of x and out";
    t.sizes[2].what = "inner columns of this rank";
    t.options.push_back(
        option<MoeMlpConfig>("gated", &MoeMlpConfig::gated, "up has gate rows, then up rows; SwiGLU of both", 0, 1));
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
  MoeRsConfig down;
  static_cast<GroupedConfig&>(down) = config;
  up_ = std::make_unique<AgMoe>(team, maxM, k, n, experts, topK, dtype, up);
  down_ = std::make_unique<MoeRs>(team, maxM, n, k, experts, topK, dtype, down);
  inner_ = memory_.localZeros({maxM * topK, k}, dtype, "inner");
}

MoeMlp::~MoeMlp() = default;

void MoeMlp::closeParts() {
  up_->close();
  down_->close();
}

void MoeMlp::queue(const Call& call) {
  const auto& t = call.tensors;
  int64_t m = call.numbers[0];
  Tensor inner{inner_.address, {m * topK_, k_}, dtype_};
  up_->run(t[0], t[1], t[3], inner, m, call.stream);
  down_->run(inner, t[2], t[3], t[4], m, call.stream);
}

}  // namespace tandem::ops
