// The gradients of attention.
#pragma once
#include "tandem/attention_config.h"
#include "tandem/operator.h"

namespace tandem::ops {

struct AttentionBackwardConfig : AttentionConfig {
  bool wantsQ = false, wantsK = false, wantsSinks = false;  // these gradients beside that of v
  bool anyOrder = false;                                    // sums of q's gradient may be added in any order
};

// The tensors that only some calls have; the others stay without an address.
struct AttentionBackwardMore {
  Tensor cuQ, cuKv;       // [batch + 1], int32, with `varlen`
  Tensor sinks, ofSinks;  // [hq], fp32, with `wantsSinks`; the second is the gradient
  Tensor ofQ, ofK;        // of the shapes of q and k, with these options
};

// The gradients of q, k and v, from the result of attention, its `lse` and the result's gradient: fp16 or bf16. Every sum
// has one order, so that the bits are the same each time; with `anyOrder` those of q's gradient need not.
class TANDEM_API AttentionBackward : public Operator {
 public:
  AttentionBackward(Team& team, int64_t maxRows, int64_t hq, int64_t hkv, int64_t d, int64_t dv, DType dtype,
                    const AttentionBackwardConfig& config = {});
  // Shapes and numbers as Attention's; grad: [m, hq, dv]; ofV: [n, hkv, dv]. Queued on `stream`.
  void run(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& result, const Tensor& lse,
           const Tensor& grad, const Tensor& ofV, int64_t m, int64_t n, int64_t batch, int64_t longest, int stream = 0,
           const AttentionBackwardMore& more = {}) {
    call({{q, k, v, result, lse, grad, more.cuQ, more.cuKv, more.sinks, more.ofSinks, more.ofQ, more.ofK, ofV},
          {m, n, batch, longest},
          stream});
  }

 private:
  void queue(const Call& call) override;

  int64_t hq_, hkv_, d_, dv_;
  AttentionBackwardConfig config_;
  Tensor delta_;           // [hq * maxRows]: the products of a result's row with its gradient's
  Tensor columns_, sums_;  // of the queries (columns.py, added.py)
  Tensor parts_;           // of the gradients of keys and values, of programs that share a block
};

}  // namespace tandem::ops
