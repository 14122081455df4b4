// How a product over ranks is cut into tiles and chunks.
#include "ops/plan.h"
#include <algorithm>
#include <array>
#include <cstdlib>

namespace tandem::ops {
namespace {

struct Tile {
  int m, n, k, warps, stages;
  double rate;  // of the largest tile's, where many are multiplied
};

constexpr Tile kSimulated = {64, 64, 32, 4, 3, 1};
constexpr Tile kByPointers = {64, 64, 32, 4, 3, 1};  // no copies of blocks, or fp32
// Inner sizes are those of 2-byte elements.
constexpr std::array<Tile, 4> kByBlocks = {
    {{128, 256, 64, 8, 4, 1}, {128, 128, 64, 8, 5, .92}, {64, 128, 128, 4, 4, .6}, {64, 64, 128, 4, 6, .42}}};

constexpr int kSimulatedPrograms = 32;
constexpr int kGroup = 8;
constexpr int kMostChunks = 16;
// Measured over NVLink between H200s: copy engines, a signal behind a copy, the handshake before the first one.
constexpr double kBytesPerMicrosecond = 397e3, kSignalMicroseconds = 4, kHandshakeMicroseconds = 8;

int64_t cdiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

bool hasBlockCopies(const std::string& target) {
  return target.starts_with("sm_") && std::atoi(target.c_str() + 3) >= 90;
}

// Rounds over the programs, each as long as its tile.
double cost(const Tile& tile, const GemmSizes& sizes, int programs) {
  int64_t shard = shardRows(sizes.m, sizes.ranks);
  int64_t tiles = cdiv(sizes.m, shard) * cdiv(shard, tile.m) * cdiv(sizes.n, tile.n);
  return double(cdiv(tiles, programs)) * tile.m * tile.n / tile.rate;
}

Tile chosenTile(const GemmSizes& sizes, const GemmPlace& place) {
  if (place.target == "sim") return kSimulated;
  if (!place.blocks) return kByPointers;
  Tile best = *std::min_element(kByBlocks.begin(), kByBlocks.end(), [&](const Tile& a, const Tile& b) {
    return cost(a, sizes, place.residentPrograms) < cost(b, sizes, place.residentPrograms);
  });
  best.k = int(best.k * 2 / byteSize(sizes.dtype));
  return best;
}

void fill(int& value, int chosen) {
  if (!value) value = chosen;
}

int bestChunks(const GemmSizes& sizes, int64_t shard) {
  double bytes = double(shard * sizes.k * byteSize(sizes.dtype)), gemm = gemmMicroseconds(sizes);
  int best = 1;
  for (int chunks = 2; chunks <= kMostChunks; ++chunks)
    if (gatheredMicroseconds(chunks, bytes, gemm, sizes.ranks) < gatheredMicroseconds(best, bytes, gemm, sizes.ranks))
      best = chunks;
  return best;
}

double operationsPerMicrosecond(DType dtype) {
  if (dtype == DType::Float32) return 40e6;
  return byteSize(dtype) == 1 ? 1400e6 : 750e6;
}

}  // namespace

bool copiesBlocks(const std::vector<Tensor>& tensors, DType operands, bool bTransposed, const std::string& target) {
  bool fits = std::all_of(tensors.begin(), tensors.end(), [](const Tensor& t) {
    return t.address % 16 == 0 && t.shape.back() * byteSize(t.dtype) % 16 == 0;
  });
  if (!fits || target == "sim") return fits;
  return hasBlockCopies(target) && operands != DType::Float32 && (byteSize(operands) > 1 || bTransposed);
}

GemmConfig completed(const GemmConfig& given, const GemmSizes& sizes, const GemmPlace& place) {
  Tile tile = chosenTile(sizes, place);
  GemmConfig config = given;
  fill(config.blockM, tile.m);
  fill(config.blockN, tile.n);
  fill(config.blockK, tile.k);
  fill(config.numWarps, tile.warps);
  fill(config.numStages, tile.stages);
  fill(config.group, kGroup);
  fill(config.programs, place.target == "sim" ? kSimulatedPrograms : place.residentPrograms);
  config.programs = std::min(config.programs, place.residentPrograms);
  return config;
}

TileBounds tileBounds(const GemmConfig& given, const std::string& target) {
  TileBounds bounds = {kSimulated.m, kSimulated.n, kSimulated.m, kSimulated.n};
  if (target != "sim") {
    bounds = {kByPointers.m, kByPointers.n, kByPointers.m, kByPointers.n};
    for (const Tile& tile : kByBlocks)
      bounds = {std::min(bounds.leastM, tile.m), std::min(bounds.leastN, tile.n), std::max(bounds.mostM, tile.m),
                std::max(bounds.mostN, tile.n)};
  }
  if (given.blockM) bounds.leastM = bounds.mostM = given.blockM;
  if (given.blockN) bounds.leastN = bounds.mostN = given.blockN;
  return bounds;
}

double gemmMicroseconds(const GemmSizes& sizes) {
  return 2.0 * double(sizes.m) * double(sizes.n) * double(sizes.k) / operationsPerMicrosecond(sizes.dtype);
}

double gatheredMicroseconds(int chunks, double shardBytes, double gemmMicroseconds, int ranks) {
  double transfer = shardBytes * (ranks - 1) / chunks / kBytesPerMicrosecond + kSignalMicroseconds;
  double work = gemmMicroseconds * (ranks - 1) / ranks / chunks;
  double arrived = kHandshakeMicroseconds, done = gemmMicroseconds / ranks;
  for (int chunk = 0; chunk < chunks; ++chunk) {
    arrived += transfer;
    done = std::max(done, arrived) + work;
  }
  return done;
}

Chunks chunksOf(const GemmSizes& sizes, int blockM, int asked) {
  int64_t shard = shardRows(sizes.m, sizes.ranks), blocks = cdiv(shard, blockM);
  int64_t count = std::clamp<int64_t>(asked ? asked : bestChunks(sizes, shard), 1, blocks);
  int64_t perChunk = cdiv(blocks, count);
  return {cdiv(blocks, perChunk), perChunk};
}

}  // namespace tandem::ops
