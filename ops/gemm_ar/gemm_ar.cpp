// GEMM + AllReduce: a product of few rows whose sums all ranks have.
#include "ops/gemm_ar/gemm_ar.h"
#include "ops/gemm_ar/few_rows.h"
#include "ops/gemm_ar/model.h"
#include "ops/gemm_ar/scattered.h"
#include "ops/gemm_chooser.h"
#include "ops/gemm_options.h"
#include "ops/product/library_time.h"
#include "ops/product/library_way.h"
#include <algorithm>
#include <nlohmann/json.hpp>

namespace tandem::ops {
namespace tables {

const Table& gemm_ar() {
  static const Table table = [] {
    Table t = gemmTable("gemm_ar", "GemmAllReduce",
                        "out[m, n] = the sum over ranks of a[m, k] @ b[k, n], on every rank: for few rows.", "m", "m");
    t.options =
        gemmOptions<GemmConfig>({"pieces", "chunks", "library", "scattered", "one_shot_bytes", "packets_bytes"});
    t.checkMore = [](const void* given) { checkLibraryChunks("gemm_ar", *static_cast<const GemmConfig*>(given)); };
    t.tunes = true;
    t.linear = {"RowParallelLinear", false, false, "all of y comes out on every rank (GEMM + AllReduce)"};
    t.make = maker<GemmAllReduce, GemmConfig, 3>(gemm_ar);
    t.choices = [](const nlohmann::json& request) { return gemmChoices(gemm_ar(), reduceModel(), request); };
    return t;
  }();
  return table;
}

}  // namespace tables

GemmAllReduce::GemmAllReduce(Team& team, int64_t maxM, int64_t n, int64_t k, DType dtype,
                             const GemmAllReduceConfig& config)
    : Operator(tables::gemm_ar(), team, {maxM, n, k}, dtype, &config), bTransposed_(config.bTransposed),
      chooser_(std::make_unique<GemmChooser>(team, table_, reduceModel(), n, k, dtype, config)),
      product_(std::make_unique<FewRows>(team, memory_, FewRows::Kind::Reduce, *chooser_, maxM, n, k, dtype, config)) {
  GemmSizes most{maxM, n, k, team.size(), dtype};
  LibraryWay::Rows those = LibraryWay::rowsFor(config, LibraryWay::Kind::Reduce, most, chooser_->hasProducts());
  if (those.most || those.mostWhole)
    library_ = std::make_unique<LibraryWay>(team, memory_, LibraryWay::Kind::Reduce, those, most, bTransposed_);
  if (team.size() > 1 && maxM >= leastScattered(config, team.target()))
    scattered_ = std::make_unique<Scattered>(team, memory_, maxM, n, k, dtype, bTransposed_);
}

GemmAllReduce::~GemmAllReduce() = default;

void GemmAllReduce::queue(const Call& call) {
  const Tensor &a = call.tensors[0], &b = call.tensors[1];
  bool fits = copiesBlocks({anywhere(a), anywhere(b)}, dtype_, bTransposed_, team_.target());
  const Tensor& out = call.tensors[2];
  int64_t m = call.numbers[0];
  const GemmConfig& config = chooser_->choose(m, fits, out.dtype).config;
  if (config.library > 0) return library_->run(a, b, out, m, config.chunks, call.stream);
  if (scattered_ && config.scattered > 0) return scattered_->run(a, b, out, m, call.stream);
  product_->run(a, b, out, m, config, call.stream);
}

std::vector<Operator*> GemmAllReduce::parts() const {
  std::vector<Operator*> all = scattered_ ? scattered_->parts() : std::vector<Operator*>();
  if (library_ && library_->part()) all.push_back(library_->part());
  return all;
}

TunedGemm GemmAllReduce::tune(const Tensor& a, const Tensor& b, const Tensor& out, int64_t m, int stream) {
  return chooser_->tune(m, stream, [&] { run(a, b, out, m, stream); });
}

std::string GemmAllReduce::tune(const Call& call) {
  return textOf(table_, tune(call.tensors[0], call.tensors[1], call.tensors[2], call.numbers[0], call.stream));
}

}  // namespace tandem::ops
