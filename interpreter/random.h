// The one source of chance in a world: splitmix64 from the seed. The same seed gives the same run.
#pragma once
#include <cstdint>

namespace tandem::interpreter {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ull + 0x1234567) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  // A number in [0, bound); bound > 0.
  uint32_t below(uint32_t bound) { return uint32_t((uint64_t(uint32_t(next())) * bound) >> 32); }
  bool oneIn(uint32_t n) { return below(n) == 0; }

 private:
  uint64_t state_;
};

}  // namespace tandem::interpreter
