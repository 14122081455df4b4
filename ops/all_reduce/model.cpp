// Sizes measured on H200s, for a link that carries more or less in a signal's round trip.
#include "ops/all_reduce/model.h"
#include <algorithm>
#include <limits>

namespace tandem::ops {

namespace {

constexpr double kFlightBytes = 352 << 10;  // what an H200's link carries while the second flight takes off and lands
constexpr double kMostBytes = 8 << 20;      // in two flights, for which slots take four times as much
constexpr double kMostOfTwo = 16 << 20;     // on two ranks, where one flight takes as much

}  // namespace

int64_t mostBytes(AllReduceWay way, int ranks, double reach) {
  if (way == AllReduceWay::TwoShot) return std::numeric_limits<int64_t>::max();
  if (way == AllReduceWay::TwoShotPackets) return int64_t(kMostBytes);
  if (ranks <= 2) return int64_t(kMostOfTwo);
  return int64_t(std::min(kMostBytes, reach * kFlightBytes * ranks / (ranks - 1) / (ranks - 2)));
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
  bool isTaken = way != AllReduceWay::TwoShotPackets ||
                 mostBytes(AllReduceWay::OneShot, ranks, reach) < mostBytes(way, ranks, reach);
  if (given != AllReduceWay::Auto || !isTaken || way > wayFor(elements * byteSize(dtype), ranks, reach)) return 0;
  return std::min(elements, mostBytes(way, ranks, reach) / byteSize(dtype));
}

}  // namespace tandem::ops
