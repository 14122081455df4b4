// These functions tell which calls may multiply by the vendor's library, and how long they take: in one piece, with a
// collective of ours before it or behind it, or in parts, with copies under the products.
#pragma once
#include "ops/gemm_choice.h"

namespace tandem::ops {

// The most parts of a shard.
constexpr int kMostLibraryParts = 8;
// What travels in a call in one piece, over all ranks: larger products hide their transfers, and memory is spent on both.
// Sums of all ranks are hidden less, and need less memory.
constexpr int64_t kMostLibraryBytes = 32 << 20, kMostReducedBytes = 64 << 20;
// The rows of each part but the last of a shard, whole numbers of tiles.
int64_t libraryPartRows(int64_t shard, int parts);

// The most rows of a call in one piece, and whether one in parts may go this way. `rowBytes`: of a row that travels.
// `isThere`: every rank has the library.
int64_t mostLibraryRows(const GemmConfig& given, const GemmSizes& sizes, int64_t rowBytes, bool isThere,
                        int64_t mostBytes = kMostLibraryBytes);
bool mayBeInParts(const GemmConfig& given, const GemmSizes& sizes, bool isThere);

// Throws Error where the library was asked for and does not multiply such matrices, or in too many parts.
void checkLibrary(const GemmConfig& given, const GemmSizes& sizes);
// For operators whose shards travel in `chunks` parts only between products of the library: throws Error that names `op`.
void checkLibraryChunks(const std::string& op, const GemmConfig& given);

// Microseconds of the product alone, from its launch, on one rank.
double libraryProductUs(const GemmSizes& sizes, const model::Machine& machine);
// What a collective of `bytes` over the link of a rank adds: small results in packets of one flight.
double packetsUs(double bytes, const model::Machine& machine);

// The call in one piece as the one choice, if it may go this way. `aroundUs`: of its collective.
std::vector<GemmChoice> byLibrary(const GemmConfig& given, const GemmSizes& sizes, int64_t rowBytes,
                                  const GemmPlace& place, const model::Machine& machine, double aroundUs,
                                  int64_t mostBytes = kMostLibraryBytes);
// The call in parts, with several numbers of them: rows are gathered under the products, or sums travel there, or these go
// on to all ranks.
std::vector<GemmChoice> byGatheredParts(const GemmConfig& given, const GemmSizes& sizes, const GemmPlace& place,
                                        const model::Machine& machine);
std::vector<GemmChoice> byScatteredParts(const GemmConfig& given, const GemmSizes& sizes, const GemmPlace& place,
                                         const model::Machine& machine);
std::vector<GemmChoice> byReducedParts(const GemmConfig& given, const GemmSizes& sizes, const GemmPlace& place,
                                       const model::Machine& machine);

}  // namespace tandem::ops
