// Host side of AllGather + GEMM.
#include "ops/check.h"
#include "ops/kernel_text.h"
#include "tandem/ops.h"

namespace tandem::ops {
namespace {

constexpr char kOp[] = "ag_gemm";

const Kernel& kernel(const char* name) {
  static const Kernel gemm = Kernel::fromText(kAgGemmText, "ops/ag_gemm/ag_gemm.py", "ag_gemm");
  static const Kernel advance = Kernel::fromText(kAgGemmText, "ops/ag_gemm/ag_gemm.py", "advance_epoch");
  return name == std::string("ag_gemm") ? gemm : advance;
}

int64_t blocksOf(int64_t shard, const GemmConfig& config) { return (shard + config.blockM - 1) / config.blockM; }

}  // namespace

AllGatherGemm::AllGatherGemm(Team& team, int64_t maxM, int64_t n, int64_t k, DType dtype, const GemmConfig& config)
    : team_(team), maxM_(maxM), n_(n), k_(k), dtype_(dtype), config_(config) {
  if (maxM < 1 || n < 1 || k < 1) throw Error("`ag_gemm`: sizes must be positive");
  int64_t shard = shardRows(maxM, team.size());
  workspace_ = team.empty({2, team.size() * shard, k}, dtype, "ag_gemm workspace");
  ready_ = team.zeros({team.size() * blocksOf(shard, config)}, DType::Int64, "ag_gemm ready");
  epoch_ = team.zeros({1}, DType::Int64, "ag_gemm epoch");
}

void AllGatherGemm::close() {
  team_.barrier();
  for (const Tensor& t : {workspace_, ready_, epoch_}) team_.release(t);
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
               {a, b, c, workspace_, ready_, epoch_, m, n_, k_, shard, workspace_.size() / 2},
               {{"BLOCK_M", int64_t(config_.blockM)}, {"BLOCK_N", int64_t(config_.blockN)}, {"BLOCK_K", int64_t(config_.blockK)},
                {"NUM_COMM", int64_t(config_.commPrograms)}, {"ELEMENT_BYTES", byteSize(dtype_)}});
  team_.launch(kernel("advance_epoch"), {{1, 1, 1}, 1, stream}, {epoch_});
}

}  // namespace tandem::ops
