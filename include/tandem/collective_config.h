// A CollectiveConfig says how a collective runs.
#pragma once
#include <cstdint>

namespace tandem::ops {

// 0 leaves the choice to the collective. The same on all ranks.
struct CollectiveConfig {
  int programs = 0;  // at most; never more than a rank has resident at once
  int numWarps = 0;
  int64_t chunkBytes = 0;  // the most bytes that a program sends under one signal
};

}  // namespace tandem::ops
