// What collectives share on the host: their configuration, how elements are dealt, their argument checks.
#pragma once
#include "ops/cdiv.h"
#include "tandem/collectives.h"
#include <cstdint>

namespace tandem::ops {

// Shards and chunks begin at multiples of so many elements, so that accesses are as wide as they can be.
constexpr int64_t kChunkElements = 64;

inline int64_t roundUp(int64_t count) { return cdiv(count, kChunkElements) * kChunkElements; }
inline int64_t shardElements(int64_t n, int ranks) { return roundUp(cdiv(n, ranks)); }

// `given` with every 0 replaced; chunks are whole numbers of kChunkElements.
CollectiveConfig completed(const CollectiveConfig& given, const Team& team);
// The same for shards of so many bytes: small ones go by fewer programs and warps, where `given` leaves that open.
CollectiveConfig sized(const CollectiveConfig& given, const CollectiveConfig& completed, int64_t shardBytes,
                       const Team& team);
// Elements of a chunk where `programs` share `shard` elements.
int64_t chunkElements(const CollectiveConfig& config, int64_t shard, DType dtype);
// The most chunks of one program: never more for smaller shards.
int64_t mostChunks(const CollectiveConfig& config, int64_t mostElements, DType dtype);
// Elements that a program of a kernel in two shots moves at once.
int64_t tileElements(const CollectiveConfig& config, int64_t chunk, DType dtype);

// Throw Error that names operator, argument and what was seen.
void checkConfig(const char* op, const CollectiveConfig& config);
// What is made for so many elements.
void checkBytes(const char* op, int64_t rows, int64_t columns, DType dtype);
void checkSummed(const char* op, DType dtype);
// For Team::openOperator: what all ranks say alike.
std::string madeFor(const char* op, const std::string& sizes, DType dtype, const CollectiveConfig& config);
void checkSize(const char* op, const char* name, const Tensor& t, int64_t elements, DType dtype);

}  // namespace tandem::ops
