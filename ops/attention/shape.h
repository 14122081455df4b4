// What attention and its gradients share on the host: sizes and options, their checks, and the constants of kernels.
#pragma once
#include "ops/table.h"
#include "tandem/attention_config.h"
#include "tandem/kernel.h"
#include "tandem/team.h"
#include <array>
#include <map>

namespace tandem::ops {

std::vector<Size> attentionSizes();
std::vector<Number> attentionNumbers();
// cu_q or cu_kv.
Operand cuOperand(const std::string& name);

template <class Config>
std::vector<Option> attentionOptions() {
  using C = AttentionConfig;
  std::vector<Option> out = {
      option<Config>("causal", &C::causal, "a query sees the keys up to its diagonal", 0, 1),
      option<Config>("top_left", &C::topLeft, "diagonals begin at the first key, else they end at the last one", 0, 1),
      option<Config>("varlen", &C::varlen, "sequences of any lengths, by cu_q and cu_kv; else all have the same", 0, 1),
      option<Config>("window", &C::window, "a query sees the keys less than this far from its diagonal"),
      realOption<Config>("scale", &C::scale, "of the products, else 1 / sqrt(d)"),
      realOption<Config>("softcap", &C::softcap, "scores s become softcap * tanh(s / softcap)"),
      option<Config>("block_m", &C::blockM, "queries of a tile"),
      option<Config>("block_n", &C::blockN, "keys of a tile"),
      option<Config>("num_warps", &C::numWarps, "of a program"),
      option<Config>("num_stages", &C::numStages, "how far loads run ahead")};
  out[6].kind = out[7].kind = Option::Kind::Tile;
  return out;
}

// Throws Error unless the heads can be shared and have a size that the kernels are made for.
void checkHeads(const Table& table, int64_t hq, int64_t hkv, int64_t d, int64_t dv, DType dtype);
// Throws Error unless sequences that are alike fill the rows of a call: numbers m, n, batch, longest.
void checkLengths(const Table& table, const AttentionConfig& config, const std::vector<int64_t>& numbers);

// The elements of the two tiles that a head comes in, powers of two, of which the second may be 0. Behind the head's elements are zeros.
struct Parts {
  int64_t first, second;
  int64_t both() const { return first + second; }
};

// Heads of q and k, and of v.
struct Heads {
  int64_t d, dv;
  Parts ofD, ofV;
};
Heads headsOf(int64_t d, int64_t dv, DType dtype);

struct AttentionTile {
  int m, n, warps, stages;
  bool operator==(const AttentionTile&) const = default;
};

// A call's numbers, and what follows of them and the options.
struct AttentionCall {
  int64_t m, n, batch, longest, queries, keys;  // the last two: of each sequence; with `varlen` how many there are
  bool isSquare;                                // as many, and multiples of the tile
};
AttentionCall attentionCall(const AttentionConfig& config, const AttentionTile& tile,
                            const std::vector<int64_t>& numbers);
// The blocks of a call's rows: of each sequence; with `varlen` of all, as many as ops/device/attention.py's `block_of` has places.
int64_t blocksAlong(const AttentionConfig& config, const AttentionCall& call, int64_t rows, int64_t each,
                    int64_t block);

// The tile with what the options choose.
AttentionTile chosen(const AttentionConfig& config, AttentionTile tile);
// The constants that all kernels have.
Constants attentionConstants(const AttentionConfig& config, const AttentionTile& tile, bool isSquare, int64_t hq,
                             int64_t hkv, const Heads& heads);
// Times log2(e), as kernels have them.
double scaleOf(const AttentionConfig& config, int64_t d);
double capOf(const AttentionConfig& config);

}  // namespace tandem::ops
