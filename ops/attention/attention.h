// Attention.
#pragma once
#include "tandem/attention_config.h"
#include "tandem/operator.h"

namespace tandem::ops {

struct AttentionForwardConfig : AttentionConfig {
  bool withLse = false;  // the logarithms of the sums are written too, for gradients
};

// The tensors that only some calls have; the others stay without an address.
struct AttentionMore {
  Tensor cuQ, cuKv;  // [batch + 1], int32, with `varlen`: the first query (key) of each sequence, and the number of all
  Tensor sinks;      // [hq], fp32: a score of each head that takes its share of the weights, without a value
  Tensor scales;     // [3], fp32, of fp8: of q, k and v, which stand for themselves times these
  Tensor lse;        // [hq, m], fp32, with `withLse`: natural logarithms; -inf of a query that sees no key
};

// out = softmax(q k^T * scale) v of each sequence and head, on one rank. Query heads share key heads in groups of hq / hkv.
// fp16, bf16 or fp8e4nv, which has a result in bf16; d, the elements of a head of q and k, and dv, of v, are multiples of 8
// (fp8e4nv: 16) up to 256. A query that sees no key has a result of 0.
class TANDEM_API Attention : public Operator {
 public:
  // maxRows: the most queries, keys or sequences of a call.
  Attention(Team& team, int64_t maxRows, int64_t hq, int64_t hkv, int64_t d, int64_t dv, DType dtype,
            const AttentionForwardConfig& config = {});
  // q: [m, hq, d]; k: [n, hkv, d]; v: [n, hkv, dv]; out: [m, hq, dv]; of `batch` sequences, of which the longest has
  // `longest` queries: m / batch where they are alike. Queued on `stream`.
  void run(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out, int64_t m, int64_t n, int64_t batch,
           int64_t longest, int stream = 0, const AttentionMore& more = {}) {
    call({{q, k, v, more.cuQ, more.cuKv, more.sinks, more.scales, more.lse, out}, {m, n, batch, longest}, stream});
  }

 private:
  void queue(const Call& call) override;

  int64_t hq_, hkv_, d_, dv_;
  AttentionForwardConfig config_;
  Tensor parts_, stats_, counts_;  // sums of blocks of which several programs have keys, and which of them are there
  Tensor turned_;                  // [hkv, dv, keys]: v of fp8, whose product wants its keys one behind the other
};

}  // namespace tandem::ops
