// The order in which rows and blocks are taken that come from other ranks.
#pragma once
#include "model/machine.h"
#include "tandem/tensor.h"
#include <cstdint>

namespace tandem::ops {

struct RowSizes {
  int64_t m, columns, k, experts, topK;  // `columns`: those that a row is multiplied with
  int ranks;
  DType dtype;
  double here = 1;  // of all slots, those of this rank's experts
};

// Returns true if the copy into the route's order, for which all shards must have come before the first product, takes less than
// reading each row where it is.
bool isQuickerOrdered(const RowSizes& sizes, int64_t blockRows, const model::Machine& machine);

// Of 256 blocks, how many are multiplied while the other ranks' shards come; all where there are several of these.
int64_t earlyBlocks(const RowSizes& sizes, const model::Machine& machine);

}  // namespace tandem::ops
