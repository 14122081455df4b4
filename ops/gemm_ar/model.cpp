// Few rows: reading B takes the time, so tiles are many and narrow.
#include "ops/gemm_ar/model.h"
#include <algorithm>
#include <iterator>

namespace tandem::ops {
namespace {

constexpr int kStepsWorthSplitting = 4;
constexpr SumTile kSimulated = {16, 32, 32, 4, 3};
// Inner sizes are those of 2-byte elements.
constexpr SumTile kByRows[] = {
    {16, 64, 128, 4, 8}, {32, 64, 128, 4, 8}, {64, 64, 128, 4, 6}, {128, 64, 64, 4, 8}, {128, 128, 64, 8, 5}};

}  // namespace

SumTile sumTileFor(int64_t m, DType dtype, const std::string& target, bool blocks) {
  if (target == "sim") return kSimulated;
  SumTile chosen =
      *std::find_if(std::begin(kByRows), std::end(kByRows) - 1, [&](const SumTile& t) { return m <= t.m; });
  if (!blocks) return {std::min(chosen.m, 64), 64, 32, 4, 3};
  chosen.k = int(chosen.k * 2 / byteSize(dtype));
  return chosen;
}

int splitsFor(int64_t programs, int64_t tiles, int64_t steps) {
  int64_t worth = std::min<int64_t>(kMostSplits, steps / kStepsWorthSplitting);
  return int(std::clamp<int64_t>(programs / tiles, 1, std::max<int64_t>(worth, 1)));
}

// One shot sends all to R - 1 ranks; two shots twice the R-th part of that, with one flight more.
int64_t mostOneShotBytes(int ranks, const model::Machine& machine) {
  double saved = double(ranks - 1) * (1 - 2.0 / ranks), flight = machine.roundTripUs / 2 + machine.signalFenceUs;
  return saved <= 0 ? int64_t(1) << 62 : int64_t(flight * machine.storeBytes() / saved);
}

// Packets are twice the bytes; they need neither a fence before a signal nor loads behind the wait for it.
int64_t mostPacketsBytes(int ranks, const model::Machine& machine) {
  return int64_t(machine.signalFenceUs * machine.storeBytes() / std::max(1, ranks - 1));
}

}  // namespace tandem::ops
