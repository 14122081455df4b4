// Whether rows are copied into the route's order before they are multiplied.
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

// Returns true if the copy, for which all shards must have come before the first product, takes less than reading each row
// where it is.
bool isQuickerOrdered(const RowSizes& sizes, int64_t blockRows, const model::Machine& machine);

}  // namespace tandem::ops
