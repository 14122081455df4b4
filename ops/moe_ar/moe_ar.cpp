// Host side of grouped GEMM + AllReduce: the product, the sums over slots, and ops/all_reduce, one behind the other.
#include "ops/moe_ar/moe_ar.h"
#include "ops/all_reduce/all_reduce.h"
#include "ops/cdiv.h"
#include "ops/grouped_gemm/product.h"
#include "ops/kernel_text.h"
#include "ops/gemm_choice.h"
#include <algorithm>

namespace tandem::ops {
namespace tables {

const Table& moe_ar() {
  static const Table table = [] {
    Table t{.name = "moe_ar",
            .className = "MoeAr",
            .what = "out[m, n] = the sum over ranks and slots of h @ w[e]^T, by the route's weights, on every rank.",
            .sizes = groupedSizes(),
            .types = groupedTypes(),
            .typeWords = kGroupedTypes,
            .tensors = {{.name = "h", .shape = {"m*top_k", "k"}},
                        {.name = "w", .shape = {"experts", "n", "k"}},
                        {.name = "route", .shape = {kRouteWords}, .always = DType::Int32},
                        biasOperand("bias", "n", false),
                        scalesOperand("h_scales", {"m*top_k", "scales(k)"}),
                        scalesOperand("w_scales", {"experts", "scales(n)", "scales(k)"}),
                        {.name = "out", .shape = {"m", "n"}, .isOutput = true, .ofFp8 = DType::BFloat16}},
            .numbers = {{"m", Number::Kind::Rows, "tokens"}},
            .options = groupedOptions<GroupedConfig>()};
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
    : Operator(tables::moe_ar(), team, {maxM, n, k, experts, topK}, dtype, &config), n_(n), experts_(experts),
      topK_(topK) {
  product_ = std::make_unique<GroupedProduct>(table_, team, n, k, experts, topK, dtype, config,
                                              GroupedWay{.packed = true}, findings());
  reduce_ = std::make_unique<AllReduce>(team, maxM * n, partType(dtype));
  memory_.share(config.shared);
  rows_ = memory_.localScratch({maxM * topK, GroupedProduct::resultColumns(n)}, partType(dtype), "rows");
  sums_ = memory_.localScratch({maxM, n}, partType(dtype), "sums");
}

MoeAr::~MoeAr() = default;

std::vector<Operator*> MoeAr::parts() const { return {reduce_.get()}; }

void MoeAr::queue(const Call& call) {
  const Tensor &h = call.tensors[0], &w = call.tensors[1], &route = call.tensors[2], &out = call.tensors[6];
  // The ranks' results are summed.
  const Tensor none, &bias = team_.rank() ? none : call.tensors[3];
  GroupedProduct::More more{{bias, call.tensors[4], call.tensors[5]}, {}};
  int64_t m = call.numbers[0];
  bool simulated = team_.target() == "sim";
  int64_t rows = simulated ? 16 : 8, columns = simulated ? 32 : 256;
  int programs =
      int(std::min<int64_t>(cdiv(m, rows) * cdiv(n_, columns), simulated ? 4 : 2 * team_.residentPrograms()));
  product_->launch(h, w, rows_, route, m, call.stream, more);
  Tensor sums{sums_.address, {m, n_}, partType(dtype_)};
  const Tensor& into = team_.size() > 1 ? sums : out;
  team_.launch(kernelOf("ops/moe_ar/moe_ar.py", "sum_slots"),
               {.grid = {programs, 1, 1}, .numWarps = simulated ? 2 : 4, .stream = call.stream},
               {rows_, route, into, findings(), m, n_},
               {{"PROGRAMS", int64_t(programs)},
                {"E", experts_},
                {"TOP_K", topK_},
                {"ROWS", rows},
                {"COLUMNS", columns},
                {"TILE_M", product_->tileRows(m)},
                {"TILE_N", product_->tileColumns(m)}});
  if (team_.size() > 1) reduce_->run(sums, out, call.stream);
}

}  // namespace tandem::ops
