// A grouped product of few tokens whose results are summed over each token's slots, of this rank alone.
#pragma once
#include "ops/grouped_gemm/product.h"

namespace tandem::ops {

class SlotSums {
 public:
  // The sums are of at most `maxM` tokens.
  SlotSums(const Table& table, Team& team, Memory& memory, int64_t maxM, int64_t n, int64_t k, int64_t experts,
           int64_t topK, DType dtype, const GroupedConfig& config, const Tensor& findings);
  // sums: [m, n]
  void launch(const Tensor& h, const Tensor& w, const Tensor& route, const Tensor& sums, int64_t m, int stream,
              const GroupedProduct::More& more) const;

 private:
  Team& team_;
  int64_t n_, experts_, topK_;
  Tensor findings_;
  GroupedProduct product_;
  Tensor rows_;
};

}  // namespace tandem::ops
