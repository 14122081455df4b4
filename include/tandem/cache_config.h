// These are the sizes and options that all operators over a cache of keys and values in pages have.
#pragma once
#include "tandem/tensor.h"

namespace tandem::ops {

// The cache has `pages` pages of `page` keys each, and a sequence's row of the table names up to `width` of them.
struct CachePages {
  int64_t pages, page, width;
};

struct DecodeConfig {
  int programs = 0, blockN = 0, numWarps = 0, numStages = 0;  // 0 leaves the choice to the operator
  int64_t window = 0;                                         // keys that a query sees, itself among them; 0: all
  double scale = 0;                                           // of scores; 0: 1 / sqrt(elements of a key)
  double softCap = 0;      // scores are softCap * tanh(score / softCap); 0: as they are
  bool overRanks = false;  // each rank has a part of every sequence's keys
  bool fp8Cache = false;   // keys and values are fp8e4nv, with a scale a head
  bool shared = false;     // memory for the time of a call is that of all operators of this kind that say so
};

// What a call may have beside its operands; a tensor without an address is left out.
struct DecodeMore {
  Tensor sinks = {};   // [heads] fp32: a score of each head that takes weight and has no value
  Tensor ends = {};    // [m] i32: where sequences end, counted from this rank's first key; else their lengths
  Tensor scales = {};  // [2, kv_heads] fp32: of keys and of values, with `fp8Cache`
  Tensor status = {};  // [2] i32: what was wrong (1: a page, 2: a length), one more than the last sequence with which
};

struct AppendConfig {
  int programs = 0;          // 0 leaves the choice to the operator
  double epsilon = 0;        // of norms; 0: 1e-6
  bool interleaved = false;  // neighbours are turned together, else the elements of both halves
  bool fp8Cache = false;
};

struct AppendMore {
  Tensor qWeight, kWeight;  // [head_dim] fp32: of norms of queries and keys
  Tensor scales;            // [2, kv_heads] fp32: by which keys and values are divided, with `fp8Cache`
  Tensor status;            // [2] i32: what was wrong (1: a page, 2: a position, 4: a sequence), and one more than the
                            // last token with which
};

}  // namespace tandem::ops
