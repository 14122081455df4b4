// KvAppend.
#pragma once
#include "tandem/cache_config.h"
#include "tandem/operator.h"

namespace tandem::ops {

class Appender;

// Writes m tokens' keys and values to their pages, behind a norm and a turn by their positions (ops/kv_append/README.md);
// queries get theirs in the same launch. fp16 or bf16. Local to the rank.
class TANDEM_API KvAppend : public Operator {
 public:
  // A table of `seqs` rows; `turns` positions have angles, for the first `rope` elements of a head.
  KvAppend(Team& team, int64_t maxM, int64_t heads, int64_t kvHeads, int64_t headDim, int64_t seqs,
           const CachePages& cache, int64_t turns, int64_t rope, DType dtype, const AppendConfig& config = {});
  ~KvAppend() override;
  // q, out: [m, heads, headDim]; k, v: [m, kvHeads, headDim]; sequence, position: [m] i32, of each token, sequence -1
  // where it is dropped; table: [seqs, width] i32; cosSin: [turns, rope] fp32, cosines, then sines; keys, values: [pages,
  // page, kvHeads, headDim]. m <= maxM; queued on `stream`.
  void run(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& sequence, const Tensor& position,
           const Tensor& table, const Tensor& cosSin, const Tensor& keys, const Tensor& values, const Tensor& out,
           int64_t m, int stream = 0, const AppendMore& more = {}) {
    call({{q, k, v, sequence, position, table, cosSin, keys, values, more.qWeight, more.kWeight, more.scales,
           more.status, out},
          {m},
          stream});
  }

 private:
  void queue(const Call& call) override;

  std::unique_ptr<Appender> appender_;
};

}  // namespace tandem::ops
