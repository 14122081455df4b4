// The collectives share this on the host: their configuration, and the division of elements among programs.
#pragma once
#include "ops/cdiv.h"
#include "ops/table.h"
#include "tandem/collective_config.h"
#include <cstdint>

namespace tandem::ops {

// Shards and chunks begin at multiples of this many elements, so that accesses are as wide as they can be.
constexpr int64_t kChunkElements = 64;

inline int64_t roundUp(int64_t count) { return cdiv(count, kChunkElements) * kChunkElements; }
inline int64_t shardElements(int64_t n, int ranks) { return roundUp(cdiv(n, ranks)); }

// `given` with every 0 replaced; chunks are whole numbers of kChunkElements.
CollectiveConfig completed(const CollectiveConfig& given, const Team& team);
// The same for shards of `shardBytes` bytes: small ones go by fewer programs and warps, where `given` leaves that open.
CollectiveConfig sized(const CollectiveConfig& given, const CollectiveConfig& completed, int64_t shardBytes,
                       const Team& team);
// Elements of a chunk where `programs` share `shard` elements.
int64_t chunkElements(const CollectiveConfig& config, int64_t shard, DType dtype);
// The most chunks of one program: never more for smaller shards.
int64_t mostChunks(const CollectiveConfig& config, int64_t mostElements, DType dtype);
// Elements that a program of a kernel in two shots moves at once.
int64_t tileElements(const CollectiveConfig& config, int64_t chunk, DType dtype);

// The options of CollectiveConfig.
template <class Config>
std::vector<Option> collectiveOptions() {
  return {option<Config>("programs", &CollectiveConfig::programs, "at most", 0),
          option<Config>("num_warps", &CollectiveConfig::numWarps, "of a program", 0),
          option<Config>("chunk_bytes", &CollectiveConfig::chunkBytes, "what a program sends under one signal, at most",
                         0)};
}

}  // namespace tandem::ops
