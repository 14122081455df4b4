// MlaDecode.
#pragma once
#include "tandem/cache_config.h"
#include "tandem/operator.h"

namespace tandem::ops {

class Decoder;

// Attention of 1 to 8 new queries a sequence over latent keys in pages, which all heads share (absorbed MLA): a key's first
// `latent` elements are its value too, the `turned` ones behind them are not (ops/mla_decode/README.md). fp16 or bf16.
class TANDEM_API MlaDecode : public Operator {
 public:
  MlaDecode(Team& team, int64_t maxM, int64_t qLen, int64_t heads, int64_t latent, int64_t turned,
            const CachePages& cache, DType dtype, const DecodeConfig& config = {});
  ~MlaDecode() override;
  // q, out: [m, qLen, heads, latent]; qTurned: [m, qLen, heads, turned]; keys: [pages, page, latent + turned]; else as
  // FlashDecode's. m <= maxM; queued on `stream`.
  void run(const Tensor& q, const Tensor& qTurned, const Tensor& keys, const Tensor& table, const Tensor& lengths,
           const Tensor& out, int64_t m, int stream = 0, const DecodeMore& more = {}) {
    call({{q, qTurned, keys, table, lengths, more.sinks, more.ends, more.scales, more.status, out}, {m}, stream});
  }

 private:
  void queue(const Call& call) override;

  std::unique_ptr<Decoder> decoder_;
};

}  // namespace tandem::ops
