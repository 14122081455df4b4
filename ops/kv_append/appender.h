// Launches of what writes new keys and values to their pages, and what its operators' tables share.
#pragma once
#include "ops/table.h"
#include "tandem/cache_config.h"
#include "tandem/operator.h"

namespace tandem::ops {

// `latent`: the elements of a place of the cache that stand before its key and are the value; 0: values have a tensor of
// their own. `dim`: of queries and keys, of which the first `rope` are turned.
struct AppendSizes {
  int64_t heads, kvHeads, dim, latent, seqs, turns, rope;
};

class Appender {
 public:
  Appender(const Table& table, Team& team, const AppendSizes& sizes, const CachePages& cache, AppendConfig config);
  struct Given {
    Tensor q, k, v, sequence, position, table, cosSin, keys, values, out;
  };
  struct Norms {
    Tensor q, k, v;
  };
  void launch(const Given& given, const Norms& norms, const Tensor& scales, const Tensor& status, int64_t m,
              int stream) const;

 private:
  Team& team_;
  AppendSizes sizes_;
  CachePages cache_;
  AppendConfig config_;
};

std::vector<Option> appendOptions();
// What says where tokens go and by what they are turned.
std::vector<Operand> placeOperands(const std::string& rope);
Operand weightOperand(const std::string& name, const std::string& elements);
// The scales of so many heads, and the status.
std::vector<Operand> appendMoreOperands(const std::string& kvHeads);

}  // namespace tandem::ops
