#include "compiler/layout/access.h"
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/bit.h>
#include <algorithm>

namespace tandem::layout {

size_t vectorLength(const LinearLayout& layout, int64_t known, unsigned bits, unsigned axis) {
  constexpr size_t kMostBits = 128;
  size_t length = 1;
  uint64_t basis = uint64_t(1) << layout.axisShift(axis);
  for (uint64_t b : layout.bases(Dim::Register)) {
    if (b != basis || int64_t(length * 2) > known || length * 2 * bits > kMostBits) break;
    length *= 2;
    basis *= 2;
  }
  return length;
}

std::optional<int64_t> loadCost(const LinearLayout& layout, int64_t known, unsigned bits, unsigned axis) {
  constexpr int64_t kLeastBits = 64, kSectorBits = 256, kSectorsAtOnce = 4, kCycle = 4;
  size_t length = vectorLength(layout, known, bits, axis);
  if (int64_t(length) * bits < kLeastBits) return std::nullopt;
  // Elements of one sector are neighbours, as far as is known.
  int64_t together = std::min(known, kSectorBits / int64_t(bits));
  unsigned shift = layout.axisShift(axis);
  uint64_t mask = layout.axisMask(axis);
  llvm::DenseSet<uint64_t> positions, sectors;
  for (uint64_t lane = 0; lane < uint64_t(layout.numLanes()); ++lane) {
    uint64_t position = layout.apply(Dim::Lane, lane), along = (position & mask) >> shift;
    positions.insert(position);
    sectors.insert((position & ~mask) | (along / together * together) << shift);
  }
  int64_t used = int64_t(positions.size() * length) * bits, touched = int64_t(sectors.size()) * kSectorBits;
  if (2 * used < touched) return std::nullopt;
  int64_t accesses = (layout.numRegisters() >> llvm::popcount(layout.freeMask(Dim::Register))) / int64_t(length);
  int64_t cycles = (int64_t(sectors.size()) + kSectorsAtOnce - 1) / kSectorsAtOnce;
  return accesses * (1 + kCycle * cycles);
}

}  // namespace tandem::layout
