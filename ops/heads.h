// What the operators share that multiply before and behind an attention whose heads are dealt to ranks.
#pragma once
#include "ops/gemm_choice.h"
#include "ops/table.h"

namespace tandem::ops {

struct RankHeads {
  int64_t first, count;        // of queries
  int64_t firstKey, keyCount;  // of keys
};
RankHeads headsOfRank(int64_t hq, int64_t hkv, int ranks, int rank);
// The most heads of a rank.
struct MostHeads {
  int64_t queries, keys;
};
MostHeads mostHeads(int64_t hq, int64_t hkv, int ranks);

// Of GemmConfig, without `b_transposed`: weights lie as nn.Linear has them.
std::vector<Option> headsOptions();
// Rows of a band: whole groups of row blocks.
int64_t rowsOfBand(const GemmConfig& config, int64_t shard);
// A model whose ways differ in tiles and in the bands, in which rows travel.
GemmModel bandsModel(decltype(GemmModel::microseconds) microseconds);

// Throws Error where heads of queries cannot stand with theirs of keys.
void checkHeadsOfRanks(const Table& table, int64_t hq, int64_t hkv);

}  // namespace tandem::ops
