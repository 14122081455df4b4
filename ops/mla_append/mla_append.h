// MlaAppend.
#pragma once
#include "tandem/cache_config.h"
#include "tandem/operator.h"

namespace tandem::ops {

class Appender;

// Writes m tokens' latent keys to their pages: `latent` elements behind a norm, and `turned` ones behind them, turned by their
// positions (ops/mla_append/README.md); queries' are turned in the same launch. fp16 or bf16. Local to the rank.
class TANDEM_API MlaAppend : public Operator {
 public:
  MlaAppend(Team& team, int64_t maxM, int64_t heads, int64_t latent, int64_t turned, int64_t seqs,
            const CachePages& cache, int64_t turns, DType dtype, const AppendConfig& config = {});
  ~MlaAppend() override;
  // qTurned, out: [m, heads, turned]; kTurned: [m, turned]; k: [m, latent]; keys: [pages, page, latent + turned]; `more`'s
  // kWeight: [latent]; else as KvAppend's. m <= maxM; queued on `stream`.
  void run(const Tensor& qTurned, const Tensor& kTurned, const Tensor& k, const Tensor& sequence,
           const Tensor& position, const Tensor& table, const Tensor& cosSin, const Tensor& keys, const Tensor& out,
           int64_t m, int stream = 0, const AppendMore& more = {}) {
    call({{qTurned, kTurned, k, sequence, position, table, cosSin, keys, more.kWeight, more.scales, more.status, out},
          {m},
          stream});
  }

 private:
  void queue(const Call& call) override;

  std::unique_ptr<Appender> appender_;
};

}  // namespace tandem::ops
