// The sizes that all of NVIDIA's GPUs have in common: of a warp, and of what one instruction of a matrix unit computes.
#pragma once
#include <cstdint>

namespace tandem::target {

constexpr int kNvidiaWarp = 32;

// One instruction adds products to sums of `rows` x `leastColumns` to `mostColumns`; it takes `bitsAlongK` of each row
// of its operands. `warps` execute it together.
struct ProductShape {
  int64_t warps, rows, leastColumns, mostColumns, bitsAlongK;
  constexpr int64_t depth(unsigned elementBits) const { return bitsAlongK / elementBits; }
};
constexpr ProductShape kMmaSync{1, 16, 8, 8, 256};
constexpr ProductShape kWgmma{4, 64, 8, 256, 256};

}  // namespace tandem::target
