// Host side of grouped products on one rank.
#include "ops/grouped_gemm/grouped_gemm.h"
#include "ops/grouped_gemm/product.h"

namespace tandem::ops {
namespace tables {

const Table& grouped_gemm() {
  static const Table table = [] {
    Table t{.name = "grouped_gemm",
            .className = "GroupedGemm",
            .what = "out = the rows of each expert of a route times that expert's matrix w[e]^T.",
            .sizes = groupedSizes(),
            .types = summedTypes(),
            .typeWords = "fp16, bf16 or fp32",
            .tensors = {{.name = "x", .shape = {"m + sorted*m*top_k + -1*sorted*m", "k"}},
                        {.name = "w", .shape = {"experts", "n + gated*n", "k"}},
                        {.name = "route", .shape = {kRouteWords}, .always = DType::Int32},
                        {.name = "out", .shape = {"m*top_k", "n"}, .isOutput = true}},
            .numbers = {{"m", Number::Kind::Rows, "tokens"}},
            .options = groupedOptions<GroupedGemmConfig>()};
    using Config = GroupedGemmConfig;
    t.options.push_back(option<Config>("gated", &Config::gated, "w has gate rows, then up rows; SwiGLU of both", 0, 1));
    t.options.push_back(option<Config>("sorted", &Config::sorted, "x has the route's rows, else the tokens", 0, 1));
    t.options.push_back(option<Config>("scattered", &Config::scattered, "out has the slots' rows", 0, 1));
    t.options.push_back(option<Config>("weighted", &Config::weighted, "by the route's weights", 0, 1));
    t.make = maker<GroupedGemm, Config, 5>(grouped_gemm);
    return t;
  }();
  return table;
}

}  // namespace tables

GroupedGemm::GroupedGemm(Team& team, int64_t maxM, int64_t n, int64_t k, int64_t experts, int64_t topK, DType dtype,
                         const GroupedGemmConfig& config)
    : Operator(tables::grouped_gemm(), team, {maxM, n, k, experts, topK}, dtype, &config) {
  GroupedWay way{config.gated, !config.sorted, config.scattered, config.weighted};
  product_ = std::make_unique<GroupedProduct>(table_, team, n, k, experts, topK, dtype, config, way);
}

GroupedGemm::~GroupedGemm() = default;

void GroupedGemm::queue(const Call& call) {
  product_->launch(call.tensors[0], call.tensors[1], call.tensors[3], call.tensors[2], call.numbers[0], call.stream);
}

}  // namespace tandem::ops
