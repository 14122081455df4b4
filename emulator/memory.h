// Which ranges of the host's memory kernels may reach.
#pragma once
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>

namespace tandem::emulator {

struct Range {
  uint64_t begin = 0, end = 0;
  bool holds(uint64_t address, uint64_t bytes) const {
    return address >= begin && address < end && bytes <= end - address;
  }
};

class GlobalMemory {
 public:
  void add(uint64_t begin, uint64_t bytes);
  void remove(uint64_t begin);
  // The range that holds the address; {0, 0} if there is none.
  Range find(uint64_t address) const;
  uint64_t changes() const { return changes_.load(std::memory_order_acquire); }  // grows when a range goes

 private:
  mutable std::mutex mutex_;
  std::map<uint64_t, uint64_t> ends_;  // by begin
  std::atomic<uint64_t> changes_ = 0;
};

}  // namespace tandem::emulator
