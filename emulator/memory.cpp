#include "emulator/memory.h"

namespace tandem::emulator {

void GlobalMemory::add(uint64_t begin, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  ends_[begin] = begin + bytes;
}

void GlobalMemory::remove(uint64_t begin) {
  std::lock_guard lock(mutex_);
  ends_.erase(begin);
  ++changes_;
}

Range GlobalMemory::find(uint64_t address) const {
  std::lock_guard lock(mutex_);
  auto after = ends_.upper_bound(address);
  if (after == ends_.begin()) return {};
  auto [begin, end] = *std::prev(after);
  return address < end ? Range{begin, end} : Range{};
}

}  // namespace tandem::emulator
