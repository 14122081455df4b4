// Division that rounds up, for counts of blocks and shards.
#pragma once
#include <cstdint>

namespace tandem::ops {

inline int64_t cdiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace tandem::ops
