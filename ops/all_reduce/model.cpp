// Sizes measured on H200s, for a link that carries more or less in a signal's round trip.
#include "ops/all_reduce/model.h"
#include <algorithm>
#include <limits>

namespace tandem::ops {

int64_t mostBytes(AllReduceWay way, int ranks, double reach) {
  switch (way) {
    case AllReduceWay::OneShot: return int64_t(reach * (ranks <= 2 ? 512 << 10 : ranks <= 4 ? 128 << 10 : 64 << 10));
    case AllReduceWay::TwoShotPackets: return int64_t(reach * (512 << 10));
    default: return std::numeric_limits<int64_t>::max();
  }
}

// The ratio stays within that of real machines, since the memory for packets grows with it.
double reachOf(const model::Machine& machine) {
  constexpr double kMost = 16;
  const model::Machine& measured = model::namedMachine("h200");
  double reach = machine.roundTripUs * machine.storeBytes() / (measured.roundTripUs * measured.storeBytes());
  return std::clamp(reach, 1 / kMost, kMost);
}

AllReduceWay wayFor(int64_t bytes, int ranks, double reach) {
  for (AllReduceWay way : {AllReduceWay::OneShot, AllReduceWay::TwoShotPackets})
    if (bytes <= mostBytes(way, ranks, reach)) return way;
  return AllReduceWay::TwoShot;
}

int64_t mostElements(AllReduceWay way, AllReduceWay given, int64_t elements, DType dtype, int ranks, double reach) {
  if (given == way) return elements;
  if (given != AllReduceWay::Auto || way == AllReduceWay::OneShotMarked ||
      way > wayFor(elements * byteSize(dtype), ranks, reach))
    return 0;
  return std::min(elements, mostBytes(way, ranks, reach) / byteSize(dtype));
}

}  // namespace tandem::ops
