// What collectives share on the host.
#include "ops/collective.h"
#include "tandem/error.h"
#include <algorithm>
#include <string>

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
// A thread moves so many times 16 bytes at once, at most.
constexpr int64_t kVectors = 4;

[[noreturn]] void fail(const char* op, const std::string& what) { throw Error(std::string("`") + op + "`: " + what); }

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

void checkConfig(const char* op, const CollectiveConfig& config) {
  const std::pair<const char*, int64_t> members[] = {
      {"programs", config.programs}, {"num_warps", config.numWarps}, {"chunk_bytes", config.chunkBytes}};
  for (auto [name, value] : members)
    if (value < 0) fail(op, std::string("`") + name + "` is " + std::to_string(value));
}

void checkBytes(const char* op, int64_t rows, int64_t columns, DType dtype) {
  constexpr int64_t kMost = int64_t(1) << 40;
  int64_t elements = 0;
  if (__builtin_mul_overflow(rows, columns, &elements) || elements > kMost / byteSize(dtype))
    fail(op, std::to_string(rows) + " times " + std::to_string(columns) + " elements of " + name(dtype) +
                 " are more than 2**40 bytes");
}

std::string madeFor(const char* op, const std::string& sizes, DType dtype, const CollectiveConfig& config) {
  std::string out = std::string("`") + op + "` of up to " + sizes + " " + name(dtype);
  const std::pair<const char*, int64_t> members[] = {
      {" programs", config.programs}, {" warps", config.numWarps}, {" bytes in a chunk", config.chunkBytes}};
  for (auto [what, value] : members)
    if (value) out += ", " + std::to_string(value) + what;
  return out;
}

void checkSummed(const char* op, DType dtype) {
  if (dtype != DType::Float16 && dtype != DType::BFloat16 && dtype != DType::Float32)
    fail(op, std::string("fp16, bf16 or fp32 is needed, not ") + name(dtype));
}

void checkSize(const char* op, const char* what, const Tensor& t, int64_t elements, DType dtype) {
  if (t.dtype != dtype)
    fail(op, std::string("`") + what + "` is " + name(t.dtype) + ", the operator was made for " + name(dtype));
  if (t.size() != elements)
    fail(op, std::string("`") + what + "` has " + std::to_string(t.size()) + " elements, " + std::to_string(elements) +
                 " are needed");
}

}  // namespace tandem::ops
