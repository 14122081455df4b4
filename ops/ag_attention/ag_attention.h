// Attention over ranks.
#pragma once
#include "tandem/attention_config.h"
#include "tandem/operator.h"

namespace tandem::ops {

class Gathering;

struct GatherAttentionConfig : AttentionConfig {
  bool inOrder = false;  // a rank's rows of a sequence stand together in it, else half of them before and half behind
  bool withLse = false;  // the logarithms of the sums are written too
  int bands = 0;         // of a rank's keys and values, each sent with a signal of its own; 0: by their size
  bool ring = false;     // there is memory for the keys and values of two ranks, not of all
  int groups = 0;        // of heads, whose keys and values travel and are used group by group; 0: by their size
};

// out = softmax(q k^T * scale) v of each sequence and head, over the keys and values of all ranks. Every rank has a part
// of each sequence: with m rows, rank r has its rowsOfRank(m). Those are a sequence's rows in the order of ranks first
// the first half of each (rounded up), then the second half of each from the last rank to the first; with `inOrder`
// all of each. fp16 or bf16; heads as Attention has them. With `varlen` the batch is 1, and its rows are those of
// sequences of any lengths, each dealt so. Of the options `topLeft` is not taken, and `window` goes with `causal`.
class TANDEM_API AllGatherAttention : public Operator {
 public:
  // maxM: the most rows of a sequence over all ranks.
  AllGatherAttention(Team& team, int64_t maxM, int64_t batch, int64_t hq, int64_t hkv, int64_t d, int64_t dv,
                     DType dtype, const GatherAttentionConfig& config = {});
  ~AllGatherAttention() override;
  // q: [batch, rowsOfRank(m), hq, d]; k: [.., hkv, d]; v: [.., hkv, dv]; out: [.., hq, dv]; sinks: [hq], fp32, or none:
  // scores that take their share of the weights; lse: [batch, hq, rowsOfRank(m)], fp32, with `withLse`. Every rank calls
  // with the same m <= maxM. Queued on `stream`; work queued behind it may overwrite k and v.
  void run(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out, int64_t m, int stream = 0,
           const Tensor& sinks = {}, const Tensor& lse = {}) {
    call({{q, k, v, {}, sinks, lse, out}, {m, 1, m}, stream});
  }
  // The same with `varlen`: cu[sequences + 1], int32: the first row of each sequence, over all ranks, and the number of
  // all. m: ranks times the rows for which every rank has room; a rank's sequences stand behind one another, and behind
  // them what is read and not used. `longest`: the rows of the longest sequence.
  void run(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& cu, const Tensor& out, int64_t m,
           int64_t sequences, int64_t longest, int stream = 0, const Tensor& sinks = {}, const Tensor& lse = {}) {
    call({{q, k, v, cu, sinks, lse, out}, {m, sequences, longest}, stream});
  }

 private:
  void queue(const Call& call) override;
  int64_t groups() const;
  void checkSequences(int64_t m, int64_t sequences, int64_t longest) const;
  bool isSeen(int64_t m, int peer, int64_t first, int64_t count) const;
  void makeRoom(int distance, int stream);
  void push(const Tensor& k, const Tensor& v, int64_t m, int distance, int64_t group, int64_t groups, int64_t bands,
            int64_t bandRows);

  int64_t batch_, hq_, hkv_, d_, dv_;
  GatherAttentionConfig config_;
  int64_t pitch_ = 0;                   // rows from one rank's to the next's in what is gathered
  int64_t slots_ = 1;                   // for so many ranks there is memory
  std::unique_ptr<Gathering> channel_;  // where there are others
  Tensor keys_, values_, nobodys_, firsts_, free_, state_;
};

}  // namespace tandem::ops
