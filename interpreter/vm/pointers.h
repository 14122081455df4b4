// Walking a register of pointers under its masks as runs of consecutive elements, so that a row of a tile is one
// access.
#pragma once
#include "interpreter/vm/registers.h"

namespace tandem::interpreter {

// The elements a memory instruction touches. `mask` null: all.
struct Pointers {
  const uint64_t* at = nullptr;
  size_t count = 0;
  const uint8_t* mask = nullptr;
  std::vector<uint8_t> combined;  // owns the mask when two had to be joined

  Pointers(Machine& m, Run& run, Register pointer, Register maskRegister) {
    at = reinterpret_cast<const uint64_t*>(data(m, run, pointer));
    count = run.count(pointer);
    bool lanes = isLanes(run, pointer);
    const uint8_t* given = maskRegister == kNone ? nullptr : data(m, run, maskRegister);
    bool one = given && run.count(maskRegister) != count;
    if (lanes && !run.mask.all) {
      combined = run.mask.bytes;
      combined.resize(count);
      for (size_t k = 0; given && k < count; ++k) combined[k] &= given[one ? 0 : k];
    } else if (one) {
      combined.assign(count, *given);
    } else {
      mask = given;
    }
    if (!combined.empty()) mask = combined.data();
  }

  // Returns the number of elements from `first` on that are active and consecutive in memory.
  size_t runFrom(size_t first, unsigned bytes) const {
    size_t k = first + 1;
    uint64_t base = at[first] - first * bytes;
    while (k + 16 <= count) {
      uint64_t differs = 0;
      for (size_t j = 0; j < 16; ++j) differs |= at[k + j] ^ (base + (k + j) * bytes);
      if (mask)
        for (size_t j = 0; j < 16; ++j) differs |= mask[k + j] ^ 1u;
      if (differs) break;
      k += 16;
    }
    while (k < count && (!mask || mask[k]) && at[k] == base + k * bytes) ++k;
    return k - first;
  }

  // Calls body(first, length) for each run of active elements until it says false.
  template <class Body> bool each(unsigned bytes, Body body) const {
    for (size_t k = 0; k < count;) {
      if (mask && !mask[k]) {
        ++k;
        continue;
      }
      size_t length = runFrom(k, bytes);
      if (!body(k, length)) return false;
      k += length;
    }
    return true;
  }
};

}  // namespace tandem::interpreter
