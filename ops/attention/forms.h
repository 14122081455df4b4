// The forms of a forward kernel, who has which blocks of a call, and how long that takes: how attention chooses among them.
#pragma once
#include "ops/attention/shape.h"

namespace tandem::ops {

// A tile, and what a multiprocessor makes of it.
struct AttentionForm {
  AttentionTile tile;
  int64_t resident;  // programs on a multiprocessor; 0: each block has a program, however many there are
  // Of programs of which each multiprocessor has no more than one in all, and of as many as it has room for: parts of the quickest form's
  // speed.
  double alone, speed;
  double ends;  // rows of keys whose time both ends of a causal block cost in a program that goes on to another
  // Pairs of a query and a key in whose time a program leaves its part of a block to another one, which puts it to its own; 0: it cannot.
  double join = 0;
};

// The first is the one for large calls.
std::vector<AttentionForm> attentionForms(const std::string& target, const Heads& heads, DType dtype);

// The blocks of each head and sequence, of tile.m queries each, and the rows of queries and keys of a sequence; with `varlen` the blocks
// of all, and the mean of rows. keyBytes: of all keys and values. isDivisible: several programs may have keys of a block.
struct AttentionWork {
  int64_t blocks, heads, batch, queries, along, keyBytes;
  bool isDivisible = false;
};

// Who has which blocks of a call.
struct AttentionGrid {
  std::array<int, 3> programs;
  // 0: each block has a program; else programs share them, so many at once in turn (ops/device/attention.py).
  int64_t shared;
  // Until the last program ends, in pairs of a query and a key that the quickest form takes meanwhile.
  double time = 0;
};
// `shared` where programs share the blocks of heads and sequences, those with most work first, in turns there and back.
constexpr int64_t kAllLanes = 3;
// `shared` where each program has an equal run of the keys of all blocks (ops/device/runs.py).
constexpr int64_t kRuns = 4;
AttentionGrid attentionGrid(const AttentionConfig& config, const AttentionForm& form, int64_t multiprocessors,
                            const AttentionWork& work);

// Of a team's rank; on the simulator a few.
int64_t multiprocessorsOf(const Team& team);

}  // namespace tandem::ops
