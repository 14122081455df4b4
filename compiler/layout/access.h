// How a warp's threads reach a tile in memory whose elements are neighbours along one dimension.
#pragma once
#include "compiler/layout/linear_layout.h"

namespace tandem::layout {

// Returns how many elements of `bits` bits one access of a thread takes: as many of its first registers as are neighbours
// along `axis`, of which aligned groups of `known` are neighbours in memory, in 16 bytes.
size_t vectorLength(const LinearLayout& layout, int64_t known, unsigned bits, unsigned axis);

// Returns the time of a warp's loads of the whole tile from the nearest cache, in quarter cycles of a multiprocessor;
// nothing where an access takes less than 8 bytes of a thread, as layouts of products' operands have it, or uses less
// than half of the 32-byte sectors that it touches. `known`, `bits`, `axis`: as above.
std::optional<int64_t> loadCost(const LinearLayout& layout, int64_t known, unsigned bits, unsigned axis);

}  // namespace tandem::layout
