// Host side of GEMM + ReduceScatter.
#include "ops/check.h"
#include "ops/kernel_text.h"
#include "tandem/ops.h"
#include <algorithm>

namespace tandem::ops {
namespace {

constexpr char kOp[] = "gemm_rs";

const Kernel& kernel(const char* name) {
  static const Kernel gemm = Kernel::fromText(kGemmRsText, "ops/gemm_rs/gemm_rs.py", "gemm_rs");
  static const Kernel finish = Kernel::fromText(kGemmRsText, "ops/gemm_rs/gemm_rs.py", "finish_call");
  return name == std::string("gemm_rs") ? gemm : finish;
}

int64_t tilesOf(int64_t shard, int64_t n, const GemmConfig& config) {
  return ((shard + config.blockM - 1) / config.blockM) * ((n + config.blockN - 1) / config.blockN);
}

}  // namespace

GemmReduceScatter::GemmReduceScatter(Team& team, int64_t maxM, int64_t n, int64_t k, DType dtype,
                                     const GemmConfig& config)
    : team_(team), maxM_(maxM), n_(n), k_(k), dtype_(dtype), config_(config) {
  checkOperator(kOp, maxM, n, k, dtype, config);
  config_.programs = std::min(config.programs, team.residentPrograms());
  int64_t shard = shardRows(maxM, team.size());
  workspace_ = team.empty({2, team.size() * shard, n}, dtype, "gemm_rs workspace");
  ready_ = team.zeros({tilesOf(shard, n, config) * team.size()}, DType::Int64, "gemm_rs ready");
  begun_ = team.zeros({team.size()}, DType::Int64, "gemm_rs begun");
  epoch_ = team.zeros({1}, DType::Int64, "gemm_rs epoch");
}

void GemmReduceScatter::close() {
  team_.barrier();
  for (const Tensor& t : {workspace_, ready_, begun_, epoch_}) team_.release(t);
}

void GemmReduceScatter::run(const Tensor& a, const Tensor& b, const Tensor& out, int64_t m, int stream) {
  checkRows(kOp, m, maxM_);
  checkShape(kOp, "a", a, m, k_);
  checkShape(kOp, "b", b, k_, n_);
  checkShape(kOp, "out", out, rowsOfRank(m, team_.size(), team_.rank()), n_);
  checkDType(kOp, "a", a, dtype_);
  checkDType(kOp, "b", b, dtype_);
  int64_t shard = shardRows(m, team_.size());
  team_.launch(kernel("gemm_rs"), {{config_.programs, 1, 1}, config_.numWarps, stream},
               {a, b, out, workspace_, ready_, begun_, epoch_, m, n_, k_, shard, workspace_.size() / 2},
               {{"BLOCK_M", int64_t(config_.blockM)},
                {"BLOCK_N", int64_t(config_.blockN)},
                {"BLOCK_K", int64_t(config_.blockK)}});
  team_.launch(kernel("finish_call"), {{1, 1, 1}, 1, stream}, {begun_, epoch_});
}

}  // namespace tandem::ops
