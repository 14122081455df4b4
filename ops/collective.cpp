// The collectives share this code on the host.
#include "ops/collective.h"
#include <algorithm>

namespace tandem::ops {
namespace {

struct Defaults {
  int programs, numWarps;
  int64_t chunkBytes;
};

// Two programs a multiprocessor: while one waits for its signals, the other sends.
constexpr int kEach = 2;
constexpr Defaults kSimulated = {4, 4, 16 << 10}, kOnGpu = {kEach * 132, 4, 16 << 10};
// Small shards: each program's in one chunk.
constexpr Defaults kSmallOnGpu = {128, 8, 128 << 10};
constexpr int64_t kSmallShard = 4 << 20;
// A thread moves at most this many times 16 bytes at once.
constexpr int64_t kVectors = 4;

}  // namespace

CollectiveConfig completed(const CollectiveConfig& given, const Team& team) {
  const Defaults& defaults = team.target() == "sim" ? kSimulated : kOnGpu;
  CollectiveConfig config = given;
  if (!config.programs) config.programs = defaults.programs;
  if (!config.numWarps) config.numWarps = defaults.numWarps;
  if (!config.chunkBytes) config.chunkBytes = defaults.chunkBytes;
  bool shares = team.target() != "sim" && config.numWarps <= kOnGpu.numWarps;
  config.programs = std::min(config.programs, team.residentPrograms() * (shares ? kEach : 1));
  return config;
}

CollectiveConfig sized(const CollectiveConfig& given, const CollectiveConfig& completed, int64_t shardBytes,
                       const Team& team) {
  if (team.target() == "sim" || shardBytes > kSmallShard) return completed;
  CollectiveConfig config = completed;
  if (!given.programs) config.programs = std::min({kSmallOnGpu.programs, completed.programs, team.residentPrograms()});
  if (!given.numWarps) config.numWarps = kSmallOnGpu.numWarps;
  if (!given.chunkBytes) config.chunkBytes = kSmallOnGpu.chunkBytes;
  return config;
}

int64_t chunkElements(const CollectiveConfig& config, int64_t shard, DType dtype) {
  int64_t most = std::max(kChunkElements, config.chunkBytes / byteSize(dtype) / kChunkElements * kChunkElements);
  return std::min(most, roundUp(cdiv(shard, config.programs)));
}

int64_t mostChunks(const CollectiveConfig& config, int64_t mostElements, DType dtype) {
  return cdiv(mostElements, config.programs * chunkElements(config, mostElements, dtype));
}

int64_t tileElements(const CollectiveConfig& config, int64_t chunk, DType dtype) {
  int64_t vectors = kVectors, each = config.numWarps * 32 * 16 / byteSize(dtype);
  while (vectors > 1 && vectors * each > chunk) vectors /= 2;
  return vectors * each;
}

}  // namespace tandem::ops
