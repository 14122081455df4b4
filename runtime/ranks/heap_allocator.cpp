// First fit over the gaps between the ranges in use: gaps that touch are one gap by construction.
#include "runtime/ranks/heap_allocator.h"
#include <algorithm>

namespace tandem::runtime::ranks {

std::optional<HeapAllocator::Range> HeapAllocator::allocate(uint64_t bytes) {
  if (bytes > capacity_) return std::nullopt;
  uint64_t size = std::max<uint64_t>(1, (bytes + kAlignment - 1) / kAlignment) * kAlignment;
  uint64_t at = 0;
  for (const auto& [offset, used] : ranges_) {
    if (offset - at >= size) break;
    at = offset + used;
  }
  if (capacity_ < at || capacity_ - at < size) return std::nullopt;
  ranges_.emplace(at, size);
  bool reused = at < highest_;
  highest_ = std::max(highest_, at + size);
  return Range{at, size, reused};
}

bool HeapAllocator::release(uint64_t offset) { return ranges_.erase(offset) > 0; }

uint64_t HeapAllocator::used() const {
  uint64_t sum = 0;
  for (const auto& [offset, bytes] : ranges_) sum += bytes;
  return sum;
}

}  // namespace tandem::runtime::ranks
