// A warp's registers are given out in units.
#include "compiler/target/occupancy.h"

namespace tandem::target {

Occupancy occupancyOf(const TargetInfo& target, int threads, int registers, int sharedBytes) {
  constexpr int kRegisterUnit = 256, kSharedUnit = 128;
  auto roundUp = [](int value, int unit) { return (value + unit - 1) / unit * unit; };
  int warps = (threads + target.warpSize() - 1) / target.warpSize();
  int ofWarp = roundUp(registers * target.warpSize(), kRegisterUnit);
  Occupancy best{target.blocksPerMultiprocessor(), "blocks"};
  auto limit = [&](int blocks, const char* what) {
    if (blocks < best.blocks) best = {blocks, what};
  };
  limit(target.threadsPerMultiprocessor() / (warps * target.warpSize()), "threads");
  if (registers) limit(target.registersPerMultiprocessor() / (ofWarp * warps), "registers");
  limit(target.sharedBytesPerMultiprocessor() / (roundUp(sharedBytes, kSharedUnit) + target.sharedBytesReserved()),
        "shared memory");
  return best;
}

}  // namespace tandem::target
