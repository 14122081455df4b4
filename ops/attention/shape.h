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
void checkHeads(const Table& table, int64_t hq, int64_t hkv, int64_t d, int64_t dv);
// Throws Error unless sequences that are alike fill the rows of a call: numbers m, n, batch, longest.
void checkLengths(const Table& table, const AttentionConfig& config, const std::vector<int64_t>& numbers);

// A head's elements as two powers of two, of which the second may be 0: what a tile can have.
struct Parts {
  int64_t first, second;
};
Parts partsOf(int64_t elements);

struct AttentionTile {
  int m, n, warps, stages;
};

// The tile of a forward kernel.
AttentionTile attentionTile(const std::string& target, int64_t d, int64_t keys, bool causal, DType dtype);
// A tile of half its rows, for blocks that are dealt out more evenly, at kHalfSpeed of its speed; of a smaller one itself.
AttentionTile halfOf(const AttentionTile& tile);
constexpr double kHalfSpeed = 0.93;
// The same for few queries: of kSmallRows, of which a multiprocessor holds so many that each is through sooner than a larger one.
constexpr int64_t kSmallRows = 64;
struct SmallTile {
  AttentionTile tile;
  int64_t resident;
};
SmallTile smallAttentionTile(int64_t d);

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

// Who has which blocks of a call: of `blocks` of each head and sequence, that go along so many rows.
struct AttentionGrid {
  std::array<int, 3> programs;
  int64_t
      shared;  // 0: each block has a program; else programs share them and take so many at once (ops/device/attention.py)
  double time = 0;  // until the last program ends, in rows of keys that a block goes along; 0: not known
};
// `shared` where programs share the blocks of all heads and sequences, those with most work first, in turns there and back.
constexpr int64_t kAllLanes = 3;
// `alone`: how many programs there are where each is alone on its multiprocessor; 0 where it is not. `keyBytes`: of all keys and values
// where the last blocks have most work; 0: not so, or not known.
AttentionGrid attentionGrid(const AttentionConfig& config, int64_t alone, int64_t blocks, int64_t heads, int64_t batch,
                            int64_t along, int64_t keyBytes = 0);
int64_t programsAlone(const Team& team, const AttentionTile& tile);
// The tile with what the options choose.
AttentionTile chosen(const AttentionConfig& config, AttentionTile tile);
// The constants that all kernels have.
Constants attentionConstants(const AttentionConfig& config, const AttentionTile& tile, bool isSquare, int64_t hq,
                             int64_t hkv, int64_t d, int64_t dv);
// Times log2(e), as kernels have them.
double scaleOf(const AttentionConfig& config, int64_t d);
double capOf(const AttentionConfig& config);

}  // namespace tandem::ops
