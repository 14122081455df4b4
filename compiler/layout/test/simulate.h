// Conversions carried out value by value over registers, lanes and warps; layouts at random.
#pragma once
#include "compiler/layout/conversion.h"
#include "compiler/layout/gf2.h"
#include <gtest/gtest.h>
#include <random>
#include <set>
#include <vector>

namespace tandem::layout {

// The position of the tensor that each register of each thread holds.
class Threads {
 public:
  explicit Threads(const LinearLayout& layout)
      : registers_(layout.numRegisters()), lanes_(layout.numLanes()), warps_(layout.numWarps()),
        held_(registers_ * lanes_ * warps_, kNothing) {}
  static Threads holding(const LinearLayout& layout) {
    Threads result(layout);
    for (int64_t w = 0; w < result.warps_; ++w)
      for (int64_t l = 0; l < result.lanes_; ++l)
        for (int64_t r = 0; r < result.registers_; ++r) result.at(r, l, w) = layout.apply(r, l, w);
    return result;
  }
  uint64_t& at(uint64_t r, uint64_t l, uint64_t w) { return held_.at((w * lanes_ + l) * registers_ + r); }
  int64_t lanes() const { return lanes_; }
  int64_t warps() const { return warps_; }
  int64_t registers() const { return registers_; }
  bool operator==(const Threads& other) const { return held_ == other.held_; }
  static constexpr uint64_t kNothing = ~uint64_t(0);

 private:
  int64_t registers_, lanes_, warps_;
  std::vector<uint64_t> held_;
};

// The threads after the conversion; checks alignment and rounds on the way.
Threads simulate(const Conversion& conversion, const LinearLayout& src, const LinearLayout& dst, unsigned elemBits);
// Passes beyond the fewest, most over all accesses of all warps, counted from byte addresses.
int64_t countConflicts(const ThroughShared& through, unsigned elemBits);

inline void expectConverts(const Conversion& conversion, const LinearLayout& src, const LinearLayout& dst,
                           unsigned elemBits) {
  Threads after = simulate(conversion, src, dst, elemBits), wanted = Threads::holding(dst);
  EXPECT_TRUE(after == wanted) << kindName(conversion).str() << "\nfrom " << src.str() << "\nto   " << dst.str();
}

using Random = std::mt19937_64;
// A layout that holds every position: random bases (unit vectors, or any if `mixed`), some of them copies.
LinearLayout randomLayout(llvm::ArrayRef<int64_t> shape, unsigned laneBits, unsigned warpBits, bool mixed,
                          Random& random);

}  // namespace tandem::layout
