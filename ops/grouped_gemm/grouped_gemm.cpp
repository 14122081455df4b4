// Host side of grouped products on one rank.
#include "ops/grouped_gemm/grouped_gemm.h"
#include "ops/grouped_gemm/product.h"

namespace tandem::ops {
namespace tables {

const Table& grouped_gemm() {
  static const Table table = [] {
    Table t = firstGroupedTable("grouped_gemm", "GroupedGemm",
                                "out = the rows of each expert of a route times that expert's matrix w[e]^T.",
                                "m + sorted*m*top_k + -1*sorted*m", "tokens");
    t.options = groupedOptions<GroupedGemmConfig>();
    using Config = GroupedGemmConfig;
    t.options.push_back(option<Config>("gated", &Config::gated, "w has gate rows, then up rows; SwiGLU of both", 0, 1));
    t.options.push_back(option<Config>("sorted", &Config::sorted, "x has the route's rows, else the tokens", 0, 1));
    t.options.push_back(option<Config>("scattered", &Config::scattered, "out has the slots' rows", 0, 1));
    t.options.push_back(option<Config>("weighted", &Config::weighted, "by the route's weights", 0, 1));
    t.options.push_back(quantisedOption<Config>(&Config::quantised));
    t.isLocal = true;
    t.make = maker<GroupedGemm, Config, 5>(grouped_gemm);
    return t;
  }();
  return table;
}

}  // namespace tables

GroupedGemm::GroupedGemm(Team& team, int64_t maxM, int64_t n, int64_t k, int64_t experts, int64_t topK, DType dtype,
                         const GroupedGemmConfig& config)
    : Operator(tables::grouped_gemm(), team, {maxM, n, k, experts, topK}, dtype, &config) {
  GroupedWay way{config.gated, !config.sorted, config.scattered, config.weighted, config.quantised};
  product_ = std::make_unique<GroupedProduct>(table_, team, &memory_, maxM, n, k, experts, topK, dtype, config, way,
                                              findings());
}

GroupedGemm::~GroupedGemm() = default;

void GroupedGemm::queue(const Call& call) {
  const auto& t = call.tensors;
  product_->launch(t[0], t[1], t[7], t[2], call.numbers[0], call.stream, {{t[3], t[4], t[5]}, t[6]});
}

}  // namespace tandem::ops
