// One bit for each byte of the heaps: has anything written it? Pages of it exist once touched. Knows no allocations.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tandem::interpreter {

class Shadow {
 public:
  // Covers [base, base + bytes).
  void reserve(uint64_t base, uint64_t bytes);
  ~Shadow();
  void set(uint64_t address, uint64_t bytes);
  void unset(uint64_t address, uint64_t bytes);
  // Clears the bytes of a whole allocation.
  void clear(uint64_t address, uint64_t bytes);
  // Offset of the first byte of the range that nothing wrote, or that something wrote; `bytes` when there is none.
  uint64_t firstUnset(uint64_t address, uint64_t bytes) const { return first<false>(address, bytes); }
  uint64_t firstSet(uint64_t address, uint64_t bytes) const { return first<true>(address, bytes); }

 private:
  template <bool isSet> uint64_t first(uint64_t address, uint64_t bytes) const;

  uint8_t* bits_ = nullptr;
  uint64_t base_ = 0, size_ = 0;
};

}  // namespace tandem::interpreter
