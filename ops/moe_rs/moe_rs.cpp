// Host side of grouped GEMM + ReduceScatter: the product on the caller's stream, beside it, where that is worth it, programs
// that sum and send what is whole, and behind it programs for the rest.
#include "ops/moe_rs/moe_rs.h"
#include "ops/cdiv.h"
#include "ops/grouped_gemm/product.h"
#include "ops/kernel_text.h"
#include "ops/gemm_choice.h"
#include "ops/machine_of_ranks.h"
#include "ops/moe_rs/plan.h"
#include <algorithm>
#include <bit>

namespace tandem::ops {
namespace {

// Programs that sum and send: `ofMultiprocessor` of them on one, at most `behind` behind the product. A turn of their loops
// takes `rows` tokens in so many columns, while those of the next `stages` - 1 are copied.
struct Sums {
  int rows, columns, warps, stages, ofMultiprocessor;
  int64_t behind;
};

Sums sums(const Team& team, int64_t topK) {
  if (team.target() == "sim") return {8, 32, 2, 3, 1, 4};
  // Copies of 8 to 16 KB a turn. With many slots, four warps would exchange their weights.
  return topK <= 4 ? Sums{topK <= 2 ? 8 : 4, 256, 4, 3, 5, kNoLimit} : Sums{4, 256, 2, 2, 5, kNoLimit};
}

// Of the last part's items, which all programs share; of the others', which few take, and in how many of them.
constexpr int kMostLastRows = 64, kMostRows = 128, kHigher = 8;
constexpr SumsPlan kSimulated = {2, 2};

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
                                            "multiprocessors that the product leaves to sums; 0: these come behind it",
                                            0, kNoLimit, -1));
    t.options.push_back(sharedOption<MoeRsConfig>());
    t.make = maker<MoeRs, MoeRsConfig, 5>(moe_rs);
    return t;
  }();
  return table;
}

}  // namespace tables

MoeRs::MoeRs(Team& team, int64_t maxM, int64_t n, int64_t k, int64_t experts, int64_t topK, DType dtype,
             const MoeRsConfig& config)
    : Operator(tables::moe_rs(), team, {maxM, n, k, experts, topK}, dtype, &config), n_(n), k_(k), experts_(experts),
      topK_(topK), config_(config) {
  product_ = std::make_unique<GroupedProduct>(table_, team, n, k, experts, topK, dtype, config,
                                              GroupedWay{.packed = true}, findings());
  machine_ = std::make_unique<model::Machine>(machineOfRanks(team));
  Sums s = sums(team, topK);
  int64_t shard = shardRows(maxM, team.size()), peers = team.size() - 1, columns = GroupedProduct::resultColumns(n);
  // The last columns of every part may fill a tile in part.
  int64_t places = cdiv(shard, s.rows) * (cdiv(n, s.columns) + kMostParts);
  memory_.share(config.shared);
  rows_ = memory_.localScratch({maxM * topK, columns}, partType(dtype), "rows");
  parts_ = memory_.symmetricScratch({std::max<int64_t>(peers * shard, 1), columns}, partType(dtype), "parts");
  ready_ = memory_.symmetricZeros({std::max<int64_t>(peers * places, 1)}, DType::Int64, "ready");
  brought_ = memory_.symmetricZeros({kMostParts}, DType::Int64, "brought");
  started_ = memory_.symmetricZeros({1}, DType::Int64, "started");
  begun_ = memory_.symmetricZeros({team.size()}, DType::Int64, "begun");
  taken_ = memory_.localZeros({1}, DType::Int32, "taken");
  done_ = memory_.localZeros({1}, DType::Int32, "done");
  epoch_ = memory_.localZeros({1}, DType::Int64, "epoch");
}

MoeRs::~MoeRs() = default;

SumsPlan MoeRs::planOf(int64_t m) const {
  int64_t tile = product_->tileColumns(m);
  int resident = team_.residentPrograms();
  if (team_.target() == "sim") {
    int64_t parts = std::min<int64_t>(config_.parts ? config_.parts : kSimulated.parts, cdiv(n_, tile));
    int beside = config_.combiners < 0 ? kSimulated.beside : config_.combiners;
    return {parts, parts == 1 || team_.size() == 1 || beside >= resident ? 0 : beside};
  }
  SumsSizes sizes{m, n_, k_, experts_, topK_, team_.size(), dtype_, partType(dtype_), product_->tileRows(m), tile};
  return planOfSums(sizes, config_.parts, config_.combiners, resident, *machine_);
}

void MoeRs::queue(const Call& call) {
  const Tensor &h = call.tensors[0], &w = call.tensors[1], &route = call.tensors[2], &out = call.tensors[6];
  // The ranks' results are summed.
  const Tensor none, &bias = team_.rank() ? none : call.tensors[3];
  GroupedProduct::More more{{bias, call.tensors[4], call.tensors[5]}, {}};
  int64_t m = call.numbers[0], tile = product_->tileColumns(m);
  SumsPlan plan = planOf(m);
  Sums s = sums(team_, topK_);
  int resident = team_.residentPrograms();
  int64_t columns = cdiv(cdiv(n_, tile), plan.parts) * tile;
  // Two items of the last part for each program that comes behind the product.
  int64_t programs = std::min<int64_t>(resident * s.ofMultiprocessor, s.behind),
          beside = plan.beside * s.ofMultiprocessor;
  int64_t rows = std::bit_floor(uint64_t(std::max<int64_t>(m * cdiv(columns, s.columns) / (2 * resident), 1)));
  rows = std::clamp<int64_t>(rows, s.rows, kMostLastRows);
  auto combine = [&](int64_t count, int stream) {
    team_.launch(
        kernelOf("ops/moe_rs/moe_rs.py", "combine"),
        {.grid = {int(count), 1, 1}, .numWarps = s.warps, .stream = stream},
        {rows_, route, out, parts_, brought_, started_, ready_, begun_, taken_, done_, epoch_, findings(), m, n_,
         shardRows(m, team_.size()), columns, std::min<int64_t>(rows * kHigher, kMostRows), rows, programs + beside},
        {{"E", experts_},
         {"TOP_K", topK_},
         {"RANKS", int64_t(team_.size())},
         {"ROWS", int64_t(s.rows)},
         {"COLUMNS", int64_t(s.columns)},
         {"TILE_M", product_->tileRows(m)},
         {"TILE_N", tile},
         {"STAGES", int64_t(s.stages)}});
  };
  GroupedProduct::Counted counted{brought_, started_, columns};
  int stream = plan.beside ? team_.streamBeside(call.stream) : call.stream;
  if (plan.beside) team_.waitEvent(team_.recordEvent(call.stream), stream);
  int products = std::min(product_->programs(), resident - plan.beside);
  product_->launch(h, w, rows_, route, m, call.stream, more, nullptr, &counted, products);
  if (plan.beside) {
    // Programs of the sums, however many are on a multiprocessor, must not take the place of the product's.
    team_.signalWait(started_, Compare::Ge, uint64_t(products), stream);
    combine(beside, stream);
  }
  combine(programs, call.stream);
  if (plan.beside) team_.waitEvent(team_.recordEvent(stream), call.stream);
}

}  // namespace tandem::ops
