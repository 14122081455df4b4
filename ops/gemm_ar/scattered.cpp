#include "ops/gemm_ar/scattered.h"
#include "ops/all_gather/all_gather.h"
#include "ops/gemm_ar/model.h"
#include "ops/gemm_choice.h"
#include "ops/gemm_rs/gemm_rs.h"

namespace tandem::ops {

Scattered::Scattered(Team& team, Memory& memory, int64_t maxM, int64_t n, int64_t k, DType dtype, bool bTransposed)
    : team_(team),
      scatter_(std::make_unique<GemmReduceScatter>(team, maxM, n, k, dtype, configOfScatter(bTransposed))) {
  AllGatherConfig config;
  config.packetsBytes = kMostGatheredPackets;
  gather_ = std::make_unique<AllGather>(team, maxM, n, partType(dtype), config);
  own_ = memory.localZeros({shardRows(maxM, team.size()), n}, partType(dtype), "own sums");
}

Scattered::~Scattered() = default;

std::vector<Operator*> Scattered::parts() const { return {scatter_.get(), gather_.get()}; }

void Scattered::run(const Tensor& a, const Tensor& b, const Tensor& out, int64_t m, int stream) {
  Tensor own{own_.address, {rowsOfRank(m, team_.size(), team_.rank()), out.shape[1]}, out.dtype};
  scatter_->run(a, b, own, m, stream);
  gather_->run(own, out, m, stream);
}

}  // namespace tandem::ops
