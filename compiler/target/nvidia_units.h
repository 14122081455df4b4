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
// mma.sync takes float64 in the shape of float32, so that each of its registers is two.
constexpr ProductShape kMmaSync{1, 16, 8, 8, 256};
constexpr unsigned mmaSyncBits(unsigned elementBits) { return elementBits < 32 ? elementBits : 32; }
constexpr ProductShape kWgmma{4, 64, 8, 256, 256};

// A producer is a warpgroup beside the consumers. Where their blocks' threads have `each` registers, it keeps
// `producersOwn`, and leaves the consumers' threads the rest of the block's, in steps of 8 and up to 240.
// So is a preparer, whose threads have `preparersOwn`.
constexpr int kProducerWarps = 4, kProducerRegisters = 40, kPreparerWarps = 4, kPreparerRegisters = 128;
constexpr int consumerRegisters(int each, int consumers, int producersOwn = kProducerRegisters, int preparersOwn = 0) {
  int producers = kProducerWarps * kNvidiaWarp, preparers = preparersOwn ? kPreparerWarps * kNvidiaWarp : 0;
  int threads = consumers + producers + preparers;
  int left = (each * threads - producersOwn * producers - preparersOwn * preparers) / consumers / 8 * 8;
  return left < 240 ? left : 240;
}

}  // namespace tandem::target
