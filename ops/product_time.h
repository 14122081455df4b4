// The time that programs of one persistent kernel take for the tiles of a product over ranks: program p takes items p,
// p + P, ...
#pragma once
#include "ops/gemm_choice.h"

namespace tandem::ops {

constexpr double kBytesOfGb = 1e3;  // a microsecond's of 1 GB/s

struct ProductTime {
  int64_t shards, ofShard;
  int programs;
  double operations;    // of a tile
  double total, alone;  // operations a microsecond: of all programs together, of one at most
  double between;       // microseconds from a tile's last product to the next one's first
  int pieces;           // of a tile left over
  double reads;         // microseconds in which memory gives what one tile reads of B, where it reads for no other
  int64_t count() const { return shards * ofShard; }
  int64_t left() const { return pieces > 1 ? count() % programs : 0; }
  int64_t whole() const { return count() - left(); }
  int64_t items() const { return whole() + left() * pieces; }

  // Returns how many programs have an item in its round.
  int64_t active(int64_t item) const { return std::min<int64_t>(programs, items() - item / programs * programs); }
  // In the last round few programs are left, and each is faster.
  double microseconds(int64_t item) const {
    auto together = double(active(item));
    return std::max(operations / std::min(alone, total / together), reads * together) + between;
  }
};

// `rate`: of the largest tile's rate. `resident`: programs that a rank has at once.
ProductTime productTime(const GemmSizes& sizes, const GemmConfig& config, double rate, int resident,
                        const model::Machine& machine);

}  // namespace tandem::ops
