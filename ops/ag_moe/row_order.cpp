// What products of rows that are read where they are take longer than those of blocks, against what the copy takes.
#include "ops/ag_moe/row_order.h"
#include <algorithm>

namespace tandem::ops {
namespace {

// Microseconds.
double product(const RowSizes& s, const model::Machine& machine) {
  double slots = double(s.m * s.topK) * s.here;
  return 2 * slots * double(s.columns * s.k) / machine.operations(byteSize(s.dtype));
}

double shardsOfOthers(const RowSizes& s, const model::Machine& machine) {
  return double(s.m * s.k) * double(byteSize(s.dtype)) * double(s.ranks - 1) / s.ranks / machine.copyBytes();
}

}  // namespace

bool isQuickerOrdered(const RowSizes& s, int64_t blockRows, const model::Machine& machine) {
  // Measured on H200s with blocks of 128 rows (docs/performance/moe.md); with fewer rows the experts' matrices take longest.
  constexpr double kLonger = 0.12, kLongerFp8 = 0.39, kOfMemory = 0.8;
  if (blockRows < 128) return false;
  double slots = double(s.m * s.topK) * s.here, bytes = double(byteSize(s.dtype));
  double copy = 2 * slots * double(s.k) * bytes / (machine.memoryGbps * 1e3 * kOfMemory);
  return product(s, machine) * (byteSize(s.dtype) == 1 ? kLongerFp8 : kLonger) > copy + shardsOfOthers(s, machine);
}

int64_t earlyBlocks(const RowSizes& s, const model::Machine& machine) {
  constexpr double kBegin = 8;
  if (s.ranks != 2) return 256;
  double matrices = double(s.experts) * double(s.columns * s.k) * double(byteSize(s.dtype));
  double whole = std::max({product(s, machine), matrices / (machine.memoryGbps * 1e3), 1e-3});
  return int64_t(std::min(256.0, 256 * (kBegin + shardsOfOthers(s, machine)) / whole));
}

}  // namespace tandem::ops
