// GEMM + AllReduce: a product of few rows whose sums all ranks have.
#include "ops/gemm_ar/gemm_ar.h"
#include "ops/all_gather/all_gather.h"
#include "ops/gemm_ar/few_rows.h"
#include "ops/gemm_ar/model.h"
#include "ops/gemm_options.h"
#include "ops/gemm_rs/gemm_rs.h"
#include "ops/product/library_time.h"
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
    : GemmOperator(tables::gemm_ar(), reduceModel(), GemmKind::Reduce, team, maxM, n, k, dtype, config) {
  if (team.size() == 1 || maxM < leastScattered(config, team.target())) return;
  DType part = partType(dtype);
  scatter_ = std::make_unique<GemmReduceScatter>(team, maxM, n, k, dtype, configOfScatter(config.bTransposed));
  AllGatherConfig gathering;
  gathering.packetsBytes = kMostGatheredPackets;
  gather_ = std::make_unique<AllGather>(team, maxM, n, part, gathering);
  own_ = memory_.localZeros({shardRows(maxM, team.size()), n}, part, "own sums");
}

GemmAllReduce::~GemmAllReduce() = default;

void GemmAllReduce::multiply(const Tensor& a, const Tensor& b, const Tensor& out, int64_t m, const GemmChoice& choice,
                             int stream) {
  if (!scatter_ || choice.config.scattered <= 0) return few_->run(a, b, out, m, choice.config, stream);
  Tensor own{own_.address, {rowsOfRank(m, team_.size(), team_.rank()), n_}, out.dtype};
  scatter_->run(a, b, own, m, stream);
  gather_->run(own, out, m, stream);
}

std::vector<Operator*> GemmAllReduce::parts() const {
  std::vector<Operator*> all = GemmOperator::parts();
  if (scatter_) all.insert(all.end(), {scatter_.get(), gather_.get()});
  return all;
}

}  // namespace tandem::ops
