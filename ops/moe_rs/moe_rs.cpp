// Host side of grouped GEMM + ReduceScatter: the product on the caller's stream, the sums on the stream beside it where
// the device has programs for both, else behind it.
#include "ops/moe_rs/moe_rs.h"
#include "ops/cdiv.h"
#include "ops/grouped_gemm/product.h"
#include "ops/kernel_text.h"
#include "ops/gemm_choice.h"
#include <algorithm>

namespace tandem::ops {
namespace {

constexpr int kMostParts = 16;
struct Sums {
  int rows, columns, warps, beside, behind, parts;
};
// On two GPUs no layer was quicker with programs beside the product (docs/performance/moe.md): few of them cannot read the
// slots as fast as the product leaves them.
constexpr Sums kOnGpu = {16, 256, 8, 0, 132, 4}, kSimulated = {16, 32, 2, 2, 4, 2};

const Sums& sums(const Team& team) { return team.target() == "sim" ? kSimulated : kOnGpu; }

}  // namespace

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
    t.options.push_back(
        option<MoeRsConfig>("parts", &MoeRsConfig::parts, "of the columns, which travel one by one", 1, kMostParts));
    t.options.push_back(option<MoeRsConfig>("combiners", &MoeRsConfig::combiners,
                                            "programs that sum and send beside the product; 0: behind it", 0, kNoLimit,
                                            -1));
    t.options.push_back(sharedOption<MoeRsConfig>());
    t.make = maker<MoeRs, MoeRsConfig, 5>(moe_rs);
    return t;
  }();
  return table;
}

}  // namespace tables

MoeRs::MoeRs(Team& team, int64_t maxM, int64_t n, int64_t k, int64_t experts, int64_t topK, DType dtype,
             const MoeRsConfig& config)
    : Operator(tables::moe_rs(), team, {maxM, n, k, experts, topK}, dtype, &config), n_(n), experts_(experts),
      topK_(topK), config_(config) {
  product_ = std::make_unique<GroupedProduct>(table_, team, n, k, experts, topK, dtype, config,
                                              GroupedWay{.scatter = true, .weigh = true}, findings());
  const Sums& s = sums(team);
  int64_t shard = shardRows(maxM, team.size()), peers = team.size() - 1;
  // The last columns of every part may fill a tile in part.
  int64_t places = cdiv(shard, s.rows) * (cdiv(n, s.columns) + kMostParts);
  memory_.share(config.shared);
  slots_ = memory_.localScratch({maxM * topK, n}, partType(dtype), "slots");
  parts_ = memory_.symmetricScratch({std::max<int64_t>(peers * shard, 1), n}, partType(dtype), "parts");
  brought_ = memory_.symmetricZeros({kMostParts}, DType::Int64, "brought");
  ready_ = memory_.symmetricZeros({std::max<int64_t>(peers * places, 1)}, DType::Int64, "ready");
  begun_ = memory_.symmetricZeros({team.size()}, DType::Int64, "begun");
  done_ = memory_.localZeros({1}, DType::Int32, "done");
  epoch_ = memory_.localZeros({1}, DType::Int64, "epoch");
}

MoeRs::~MoeRs() = default;

void MoeRs::combine(const Tensor& route, const Tensor& out, int64_t m, int64_t partColumns, int programs, int stream) {
  const Sums& s = sums(team_);
  LaunchConfig launch{.grid = {programs, 1, 1}, .numWarps = s.warps, .stream = stream, .cooperative = team_.size() > 1};
  team_.launch(kernelOf("ops/moe_rs/moe_rs.py", "combine"), launch,
               {slots_, route, out, parts_, brought_, ready_, begun_, done_, epoch_, findings(), m, n_,
                shardRows(m, team_.size()), partColumns},
               {{"E", experts_},
                {"TOP_K", topK_},
                {"PROGRAMS", int64_t(programs)},
                {"ROWS", int64_t(s.rows)},
                {"COLUMNS", int64_t(s.columns)},
                {"TILE_M", product_->tileRows(m)},
                {"TILE_N", product_->tileColumns(m)}});
}

void MoeRs::queue(const Call& call) {
  const Tensor &h = call.tensors[0], &w = call.tensors[1], &route = call.tensors[2], &out = call.tensors[6];
  // The ranks' results are summed.
  const Tensor none, &bias = team_.rank() ? none : call.tensors[3];
  GroupedProduct::More more{{bias, call.tensors[4], call.tensors[5]}, {}};
  int64_t m = call.numbers[0], tile = product_->tileColumns(m), tiles = cdiv(n_, tile);
  const Sums& s = sums(team_);
  int resident = team_.residentPrograms(), beside = config_.combiners < 0 ? s.beside : config_.combiners;
  if (team_.size() == 1 || beside >= resident) beside = 0;
  int64_t parts = std::min<int64_t>(config_.parts ? config_.parts : beside ? s.parts : 1, tiles);
  if (parts == 1) beside = 0;
  GroupedProduct::Counted counted{brought_, cdiv(tiles, parts) * tile};
  if (!beside) {
    product_->launch(h, w, slots_, route, m, call.stream, more, nullptr, &counted);
    return combine(route, out, m, counted.columns, std::min(resident, s.behind), call.stream);
  }
  int stream = team_.streamBeside(call.stream);
  team_.waitEvent(team_.recordEvent(call.stream), stream);
  product_->launch(h, w, slots_, route, m, call.stream, more, nullptr, &counted,
                   std::min(product_->programs(), resident - beside));
  combine(route, out, m, counted.columns, beside, stream);
  team_.waitEvent(team_.recordEvent(stream), call.stream);
}

}  // namespace tandem::ops
