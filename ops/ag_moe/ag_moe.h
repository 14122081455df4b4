// AllGather + grouped GEMM.
#pragma once
#include "tandem/moe_config.h"
#include "tandem/operator.h"

namespace tandem::ops {

class AllGather;
class GatheredProduct;
class GroupedProduct;

struct AgMoeConfig : GroupedConfig {
  bool gated = false;      // w has gate rows, then up rows; out = silu(x · gate^T) · (x · up^T)
  bool quantised = false;  // out is fp8e4nv, with a scale for 128 columns of a row
  int ordered = -1;        // 1: rows are copied into the route's order first; 0: read where they are; -1: by a model
  // Shards of at most this many bytes travel in packets, ahead of all products, unless rows are to be ordered; 0: a few.
  int64_t packetsBytes = 0;
};

// out = the rows of each expert of gather(x) times that expert's matrix: the first half of a mixture of experts whose
// matrices are divided among the ranks by their rows. x is sharded by rows. fp16, bf16, fp32 or
// fp8e4nv with scales (out is bf16 then).
class TANDEM_API AgMoe : public Operator {
 public:
  // `maxM`: tokens of all ranks; `n`: columns of this rank's result; `k`: columns of x.
  AgMoe(Team& team, int64_t maxM, int64_t n, int64_t k, int64_t experts, int64_t topK, DType dtype,
        const AgMoeConfig& config = {});
  ~AgMoe() override;
  // x: [rowsOfRank(m), k]; w: [experts, n, k], of twice the rows with `gated`; route: of all m tokens, made on this rank;
  // out: [m * topK, n], the route's rows. Every rank calls with the same m <= maxM. Queued on `stream`; work queued
  // behind it may overwrite x.
  void run(const Tensor& x, const Tensor& w, const Tensor& route, const Tensor& out, int64_t m, int stream = 0,
           const GroupedMore& more = {}, const Tensor& outScales = {}) {
    call({{x, w, route, more.bias, more.xScales, more.wScales, outScales, out}, {m}, stream});
  }

 private:
  void queue(const Call& call) override;
  std::vector<Operator*> parts() const override;

  std::unique_ptr<GatheredProduct> product_;
  // Of calls with up to so many tokens.
  int64_t few_ = 0;
  std::unique_ptr<AllGather> gather_, gatherScales_;
  std::unique_ptr<GroupedProduct> fewProduct_;
  Tensor rows_, scales_;
};

}  // namespace tandem::ops
