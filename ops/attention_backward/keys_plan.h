// How long the kernels of attention's gradients take, and what follows of it: how many programs share a block of keys, and
// whether one kernel makes all gradients.
#pragma once
#include "ops/attention/shape.h"

namespace tandem::ops {

constexpr int64_t kMostSharing = 16;  // programs that share a block of keys

// The sizes of a call. Lengths are those of each sequence, with `varlen` their mean.
struct GradientSizes {
  int64_t hq, hkv, d, dv, sequences;
  double queries, keys;
  int64_t multiprocessors;
};

// What a kernel with blocks of keys makes: gradients of k and v, and parts of q's that it adds.
struct KeysKernel {
  bool k, v, adds;
};

// The programs of blocks of keys.
struct KeysPlan {
  int64_t parts = 1;     // programs that share a block
  int64_t pieces = 1;    // those that share a head's queries; others have heads of their own
  int64_t together = 1;  // heads, or parts of them, whose programs begin together: a divisor of their number
  double time = 0;       // microseconds
};

// `mostParts`: of a block, which memory has room for.
KeysPlan planKeys(const AttentionConfig& config, const GradientSizes& sizes, const KeysKernel& kernel,
                  const AttentionTile& tile, int64_t mostParts);
// The time of what else makes q's gradient: sums that are added to, or the kernel with blocks of queries.
double addedTime(const GradientSizes& sizes);
double queriesTime(const AttentionConfig& config, const GradientSizes& sizes, const AttentionTile& tile);

}  // namespace tandem::ops
