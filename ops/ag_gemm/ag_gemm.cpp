// Host side of AllGather + GEMM.
#include "ops/check.h"
#include "ops/kernel_text.h"
#include "tandem/ops.h"
#include <algorithm>

namespace tandem::ops {
namespace {

constexpr char kOp[] = "ag_gemm";

const Kernel& kernel(const char* name) {
  static const Kernel gemm = Kernel::fromText(kAgGemmText, "ops/ag_gemm/ag_gemm.py", "ag_gemm");
  static const Kernel finish = Kernel::fromText(kAgGemmText, "ops/ag_gemm/ag_gemm.py", "finish_call");
  return name == std::string("ag_gemm") ? gemm : finish;
}

int64_t blocksOf(int64_t shard, const GemmConfig& config) { return (shard + config.blockM - 1) / config.blockM; }

}  // namespace

AllGatherGemm::AllGatherGemm(Team& team, int64_t maxM, int64_t n, int64_t k, DType dtype, const GemmConfig& config)
    : team_(team), maxM_(maxM), n_(n), k_(k), dtype_(dtype), config_(config) {
  checkOperator(kOp, maxM, n, k, dtype, config);
  config_.commPrograms = std::min(config.commPrograms, std::max(1, team.residentPrograms() - 1));
  config_.programs = std::min(config.programs, team.residentPrograms() - config_.commPrograms);
  int64_t shard = shardRows(maxM, team.size());
  workspace_ = team.empty({2, team.size() * shard, k}, dtype, "ag_gemm workspace");
  ready_ = team.zeros({team.size() * blocksOf(shard, config)}, DType::Int64, "ag_gemm ready");
  begun_ = team.zeros({team.size()}, DType::Int64, "ag_gemm begun");
  epoch_ = team.zeros({1}, DType::Int64, "ag_gemm epoch");
}

void AllGatherGemm::close() {
  team_.barrier();
  for (const Tensor& t : {workspace_, ready_, begun_, epoch_}) team_.release(t);
}

void AllGatherGemm::run(const Tensor& a, const Tensor& b, const Tensor& c, int64_t m, int stream) {
  checkRows(kOp, m, maxM_);
  checkShape(kOp, "a", a, rowsOfRank(m, team_.size(), team_.rank()), k_);
  checkShape(kOp, "b", b, k_, n_);
  checkShape(kOp, "c", c, m, n_);
  checkDType(kOp, "a", a, dtype_);
  checkDType(kOp, "b", b, dtype_);
  int64_t shard = shardRows(m, team_.size());
  LaunchConfig launch{{config_.commPrograms + config_.programs, 1, 1}, config_.numWarps, stream};
  team_.launch(kernel("ag_gemm"), launch,
               {a, b, c, workspace_, ready_, begun_, epoch_, m, n_, k_, shard, ready_.size() / team_.size(),
                workspace_.size() / 2},
               {{"BLOCK_M", int64_t(config_.blockM)},
                {"BLOCK_N", int64_t(config_.blockN)},
                {"BLOCK_K", int64_t(config_.blockK)},
                {"NUM_COMM", int64_t(config_.commPrograms)},
                {"FIRST_GEMM", int64_t(config_.programs ? config_.commPrograms : 0)},
                {"ELEMENT_BYTES", byteSize(dtype_)}});
  team_.launch(kernel("finish_call"), {{1, 1, 1}, 1, stream}, {begun_, epoch_});
}

}  // namespace tandem::ops
