// The model of products of few rows over ranks: their tiles, how these are shared, and what a call takes. GEMM + AllReduce
// is always such a product.
#pragma once
#include "ops/gemm_choice.h"

namespace tandem::ops {

const GemmModel& reduceModel();

// The most rows of a call of AllGather + GEMM or GEMM + ReduceScatter that is one, where the operator chooses.
constexpr int64_t kMostFewRows = 256;
// Returns the most rows of such a call, where one has up to `maxM`; 0: there is none.
int64_t mostFewRows(const GemmConfig& given, int64_t maxM);

// More row blocks than this are taken in groups, so that what the tiles of a round read stays in the cache.
constexpr int64_t kMostTogether = 16;

// The least rows of a call of GEMM + AllReduce that scatters its sums first.
constexpr int64_t kLeastScattered = 512;
int64_t leastScattered(const GemmConfig& given, const std::string& target);
// Its GEMM + ReduceScatter multiplies by tiles: the library in parts gathers its sums earlier.
inline GemmConfig configOfScatter(bool bTransposed) { return {.bTransposed = bTransposed, .library = 0}; }
// The results up to so many bytes that it then gathers in packets.
constexpr int64_t kMostGatheredPackets = 64 << 20;

// How those of `tiles` tiles of `steps` steps that are left over for the last round are dealt: laid end to end, `tileSteps`
// each, every program has the next `share` of them; 0: none is cut.
struct Cut {
  int64_t share, tileSteps;
};
Cut cutOf(const GemmConfig& config, int64_t tiles, int64_t steps);

// Returns the quickest ways, with the time of the product alone, from the launch to the end of its last tile.
std::vector<GemmChoice> fewRows(const GemmConfig& given, const GemmSizes& sizes, const GemmPlace& place,
                                const model::Machine& machine);
// A tile that ways of few rows may have, with its programs, and for how many rows at most.
struct FewTile {
  GemmConfig config;
  int64_t mostRows;
};
// Returns every one that calls of up to `sizes.m` rows may take.
std::vector<FewTile> tilesOfFewRows(const GemmConfig& given, const GemmSizes& sizes, const GemmPlace& place);
// The quickest ways for the operators that have another way, if they may take them; `more`: microseconds of a call beside the
// product.
std::vector<GemmChoice> fewRowsInstead(const GemmConfig& given, const GemmSizes& sizes, const GemmPlace& place,
                                       const model::Machine& machine, double more);

// Results up to so many bytes are quickest in one shot, and in packets.
int64_t mostOneShotBytes(int ranks, const model::Machine& machine);
int64_t mostPacketsBytes(int ranks, const model::Machine& machine);

}  // namespace tandem::ops
