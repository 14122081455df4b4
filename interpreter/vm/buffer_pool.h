// Reference-counted buffers for tiles, lanes and vectors, recycled by size class. Single-threaded. Knows no types.
#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace tandem::interpreter {

// The bytes lie behind the header, aligned to 64.
struct alignas(64) Buffer {
  uint32_t references = 1;
  uint32_t sizeClass = 0;
  uint64_t bytes = 0;
  uint8_t* data() { return reinterpret_cast<uint8_t*>(this) + sizeof(Buffer); }
};

class BufferPool {
 public:
  ~BufferPool() {
    for (auto& list : free_)
      for (Buffer* b : list) std::free(b);
  }
  Buffer* take(uint64_t bytes) {
    uint32_t sizeClass = uint32_t(std::bit_width((bytes < 64 ? 64 : bytes) - 1));
    auto& list = free_[sizeClass];
    Buffer* b;
    if (!list.empty()) {
      b = list.back();
      list.pop_back();
    } else {
      b = static_cast<Buffer*>(std::aligned_alloc(64, sizeof(Buffer) + (uint64_t(1) << sizeClass)));
      if (!b) std::abort();
      b->sizeClass = sizeClass;
    }
    b->references = 1;
    b->bytes = bytes;
    return b;
  }
  void drop(Buffer* b) {
    if (b && --b->references == 0) free_[b->sizeClass].push_back(b);
  }

 private:
  std::array<std::vector<Buffer*>, 64> free_;
};

}  // namespace tandem::interpreter
