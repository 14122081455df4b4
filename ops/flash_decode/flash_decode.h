// FlashDecode.
#pragma once
#include "tandem/cache_config.h"
#include "tandem/operator.h"

namespace tandem::ops {

class Decoder;

// Attention of 1 to 8 new queries a sequence over its keys and values in pages (ops/flash_decode/README.md). fp16 or bf16;
// head dimensions 64, 128 and 256; `heads` queries' heads share `kvHeads` heads of keys. Local to the rank, or with
// `overRanks` over the keys of all ranks.
class TANDEM_API FlashDecode : public Operator {
 public:
  FlashDecode(Team& team, int64_t maxM, int64_t qLen, int64_t heads, int64_t kvHeads, int64_t headDim,
              const CachePages& cache, DType dtype, const DecodeConfig& config = {});
  ~FlashDecode() override;
  // q, out: [m, qLen, heads, headDim]; keys, values: [pages, page, kvHeads, headDim]; table: [m, width] i32, the pages of
  // each sequence; lengths: [m] i32, the keys of each, its new ones among them: its i-th query sees all but the last
  // qLen - 1 - i. Keys on pages that are none are left out, keys behind the table's row too. m <= maxM; queued on `stream`.
  void run(const Tensor& q, const Tensor& keys, const Tensor& values, const Tensor& table, const Tensor& lengths,
           const Tensor& out, int64_t m, int stream = 0, const DecodeMore& more = {}) {
    call({{q, keys, values, table, lengths, more.sinks, more.ends, more.scales, more.status, out}, {m}, stream});
  }

 private:
  void queue(const Call& call) override;

  std::unique_ptr<Decoder> decoder_;
};

}  // namespace tandem::ops
