// A grouped product whose results are summed over each token's slots and over the ranks, and come to the token's rank.
#pragma once
#include "base/meaning.h"
#include "ops/grouped_gemm/product.h"
#include <memory>
#include <vector>

namespace tandem::ops {

constexpr int kMostParts = 8;
constexpr int64_t kSlotColumns = 256;  // at least, of which all slots' results are kept at once

template <class Config>
void addSumsOptions(std::vector<Option>& options) {
  options.push_back(option<Config>("parts", &Config::parts,
                                   "of the columns, whose sums travel while the next are multiplied", 1, kMostParts));
  options.push_back(option<Config>("slot_columns", &Config::slotColumns,
                                   "of which the results of all slots are kept at once", kSlotColumns));
}

class SummedProduct {
 public:
  // The sums are of at most `maxM` tokens of all ranks. `parts` and `slotColumns` are the options of these names. `own` is as
  // in GroupedWay.
  SummedProduct(const Table& table, Team& team, Memory& memory, int64_t maxM, int64_t n, int64_t k, int64_t experts,
                int64_t topK, DType dtype, const GroupedConfig& config, int parts, int slotColumns,
                const Tensor& findings, bool own = false);
  // out has this rank's tokens of m, of which those behind its rows are left out.
  void launch(const Tensor& h, const Tensor& w, const Tensor& route, const Tensor& out, int64_t m, int stream,
              const GroupedProduct::More& more) const;

 private:
  Team& team_;
  int64_t n_, experts_, topK_, columns_, rowElements_;
  int givenParts_;
  Tensor findings_;
  GroupedProduct product_;
  Tensor rows_, parts_, brought_, ready_, begun_, taken_, done_, epoch_;
  std::vector<std::unique_ptr<Meaning>> meanings_;  // of signals, for reports of waits
};

}  // namespace tandem::ops
