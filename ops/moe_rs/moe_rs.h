// Grouped GEMM + ReduceScatter.
#pragma once
#include "tandem/moe_config.h"
#include "tandem/operator.h"

namespace tandem::ops {

class ReduceScatter;
class SlotSums;
class SummedProduct;

struct MoeRsConfig : GroupedConfig {
  int parts = 0;        // of the columns, whose sums travel while the next are multiplied; 0: by the call's sizes
  int slotColumns = 0;  // of which all slots' results are kept at once; 0: so many that these take 1 GiB
  // Sums of a rank's tokens of at most so many bytes travel in packets; 0: 256 KB, but none on simulated ranks.
  int64_t packetsBytes = 0;
};

// out = this rank's tokens of the sum over ranks and slots of h · w[e]^T, by the route's weights: the second half of a
// mixture of experts whose matrices are divided among the ranks by their columns. fp16, bf16, fp32 or fp8e4nv with scales (what is
// summed, and out, is bf16 then); sums run in fp32,
// over slots, then over ranks, the own one first and then in their order: the same bits in every run.
class TANDEM_API MoeRs : public Operator {
 public:
  // `maxM`: tokens of all ranks; `n`: columns of the result; `k`: this rank's columns of h.
  MoeRs(Team& team, int64_t maxM, int64_t n, int64_t k, int64_t experts, int64_t topK, DType dtype,
        const MoeRsConfig& config = {});
  ~MoeRs() override;
  // h: [m * topK, k], the route's rows; w: [experts, n, k]; route: of all m tokens, made on this rank; out:
  // [rowsOfRank(m), n]. Every rank calls with the same m <= maxM. Queued on `stream`.
  // A bias [experts, n] is the same on all ranks and counts once.
  void run(const Tensor& h, const Tensor& w, const Tensor& route, const Tensor& out, int64_t m, int stream = 0,
           const GroupedMore& more = {}) {
    call({{h, w, route, more.bias, more.xScales, more.wScales, out}, {m}, stream});
  }

 private:
  void queue(const Call& call) override;
  std::vector<Operator*> parts() const override;

  int64_t n_, few_ = 0;  // the most tokens whose sums travel in packets
  std::unique_ptr<SummedProduct> product_;
  std::unique_ptr<SlotSums> slotSums_;
  std::unique_ptr<ReduceScatter> reduce_;
  Tensor sums_;
};

}  // namespace tandem::ops
