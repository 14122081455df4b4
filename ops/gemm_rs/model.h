// The model of GEMM + ReduceScatter: how parts may travel, and what a call takes.
#pragma once
#include "ops/gemm_choice.h"
#include <algorithm>

namespace tandem::ops {

const GemmModel& scatterModel();

// With `tiles` in a shard and a resolved config, returns the number of tiles after which the next peer
// has its turn.
inline int64_t turnOf(const GemmConfig& config, int64_t tiles) { return cdiv(tiles, std::max(config.chunks, 1)); }

}  // namespace tandem::ops
