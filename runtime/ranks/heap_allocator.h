// Hands out ranges of offsets. The same calls give the same offsets, so ranks that make the same calls need not speak
// about them. Knows nothing of memory.
#pragma once
#include <cstdint>
#include <map>
#include <optional>

namespace tandem::runtime::ranks {

class HeapAllocator {
 public:
  static constexpr uint64_t kAlignment = 256;

  struct Range {
    uint64_t offset = 0, bytes = 0;
    bool reused = false;  // somebody had a part of it before
  };

  explicit HeapAllocator(uint64_t capacity) : capacity_(capacity) {}

  // The first gap that fits; at least one unit, so that addresses differ. None: the capacity is used up.
  std::optional<Range> allocate(uint64_t bytes);
  bool release(uint64_t offset);  // false: no such range
  uint64_t used() const;

 private:
  uint64_t capacity_, highest_ = 0;      // the highest offset that was ever handed out
  std::map<uint64_t, uint64_t> ranges_;  // offset to bytes of each range in use; the gaps between them are free
};

}  // namespace tandem::runtime::ranks
