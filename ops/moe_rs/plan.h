// How the sums of grouped GEMM + ReduceScatter go beside its product: a model of a call's time, and the plan of which it is least.
#pragma once
#include "model/machine.h"
#include "tandem/tensor.h"
#include <cstdint>

namespace tandem::ops {

struct SumsSizes {
  int64_t m, n, k, experts, topK;
  int ranks;
  DType dtype, partType;
  int64_t tileRows, tileColumns;  // of the product
};

// The product leaves `beside` multiprocessors to programs that sum and send; its columns come in `parts`.
struct SumsPlan {
  int64_t parts = 1;
  int beside = 0;
};

constexpr int64_t kMostParts = 16;

// Microseconds of a call on all ranks by this plan.
double predictedSums(const SumsSizes& sizes, const SumsPlan& plan, int resident, const model::Machine& machine);
// The plan of the least predicted time, among those that have `parts` and `beside` where these are not negative.
SumsPlan planOfSums(const SumsSizes& sizes, int64_t parts, int beside, int resident, const model::Machine& machine);

}  // namespace tandem::ops
