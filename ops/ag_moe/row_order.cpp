// What products of rows that are read where they are take longer than those of blocks, against what the copy takes.
#include "ops/ag_moe/row_order.h"
#include <algorithm>

namespace tandem::ops {

bool isQuickerOrdered(const RowSizes& s, int64_t blockRows, const model::Machine& machine) {
  // Measured on H200s with blocks of 128 rows (docs/performance/moe.md); with fewer rows the experts' matrices take longest.
  constexpr double kLonger = 0.12, kLongerFp8 = 0.39, kOfMemory = 0.8;
  if (blockRows < 128) return false;
  double slots = double(s.m * s.topK) * s.here, bytes = double(byteSize(s.dtype));
  double product = 2 * slots * double(s.columns * s.k) / machine.operations(byteSize(s.dtype));
  double copy = 2 * slots * double(s.k) * bytes / (machine.memoryGbps * 1e3 * kOfMemory);
  double others = double(s.m) * double(s.k) * bytes * double(s.ranks - 1) / s.ranks / machine.copyBytes();
  return product * (byteSize(s.dtype) == 1 ? kLongerFp8 : kLonger) > copy + others;
}

}  // namespace tandem::ops
