// The initialised bits, in lazily committed memory.
#include "interpreter/memory/shadow.h"
#include <cstring>
#include <stdexcept>
#include <string>
#include <sys/mman.h>

namespace tandem::interpreter {

void Shadow::reserve(uint64_t base, uint64_t bytes) {
  base_ = base;
  size_ = bytes / 8 + 16;
  void* p = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED)
    throw std::runtime_error("cannot reserve " + std::to_string(size_ >> 20) +
                             " MiB of address space for the ranks' memory; is it limited (`ulimit -v`)?");
  bits_ = static_cast<uint8_t*>(p);
}

Shadow::~Shadow() {
  if (bits_) munmap(bits_, size_);
}

void Shadow::set(uint64_t address, uint64_t bytes) {
  uint64_t first = address - base_, last = first + bytes;
  uint8_t* p = bits_ + first / 8;
  if (first / 8 == (last - 1) / 8) {
    *p |= uint8_t(((1u << bytes) - 1) << (first & 7));
    return;
  }
  if (first & 7) *p++ |= uint8_t(0xff << (first & 7));
  uint8_t* end = bits_ + last / 8;
  if (end > p) memset(p, 0xff, size_t(end - p));
  if (last & 7) *end |= uint8_t((1u << (last & 7)) - 1);
}

void Shadow::clear(uint64_t address, uint64_t bytes) {
  // Allocations are aligned to 256 bytes, so whole shadow bytes are theirs. Big ranges give their pages back.
  uint8_t* p = bits_ + (address - base_) / 8;
  uint64_t n = (bytes + 7) / 8;
  constexpr uint64_t kPage = 4096;
  uint64_t begin = (reinterpret_cast<uint64_t>(p) + kPage - 1) / kPage * kPage,
           end = (reinterpret_cast<uint64_t>(p) + n) / kPage * kPage;
  if (end <= begin) {
    memset(p, 0, n);
    return;
  }
  memset(p, 0, begin - reinterpret_cast<uint64_t>(p));
  madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  memset(reinterpret_cast<void*>(end), 0, reinterpret_cast<uint64_t>(p) + n - end);
}

void Shadow::unset(uint64_t address, uint64_t bytes) {
  for (uint64_t bit = address - base_, end = bit + bytes; bit < end;) {
    if (bit % 8 == 0 && end - bit >= 8) {
      uint64_t whole = (end - bit) / 8;
      memset(bits_ + bit / 8, 0, whole);
      bit += whole * 8;
      continue;
    }
    bits_[bit / 8] &= uint8_t(~(1u << (bit & 7)));
    ++bit;
  }
}

template <bool isSet> uint64_t Shadow::first(uint64_t address, uint64_t bytes) const {
  constexpr uint8_t kNone = isSet ? 0 : 0xff;
  uint64_t bit = address - base_, end = bit + bytes;
  while (bit < end) {
    if ((bit & 63) == 0 && end - bit >= 64) {
      uint64_t word;
      memcpy(&word, bits_ + bit / 8, 8);
      if (!isSet) word = ~word;
      if (word) return bit + uint64_t(__builtin_ctzll(word)) - (address - base_);
      bit += 64;
      continue;
    }
    if ((bit & 7) == 0 && end - bit >= 8 && bits_[bit / 8] == kNone) {
      bit += 8;
      continue;
    }
    if (((bits_[bit / 8] >> (bit & 7) & 1) != 0) == isSet) return bit - (address - base_);
    ++bit;
  }
  return bytes;
}
template uint64_t Shadow::first<false>(uint64_t, uint64_t) const;
template uint64_t Shadow::first<true>(uint64_t, uint64_t) const;

}  // namespace tandem::interpreter
