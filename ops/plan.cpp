// How a product over ranks is cut into tiles and slices.
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
constexpr int kSlices = 8;
constexpr double kBytesPerMicrosecond = 380e3;  // copy engines between H200s, all ranks at once

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

double gatherMicroseconds(const GemmSizes& sizes) {
  return linkMicroseconds(shardRows(sizes.m, sizes.ranks) * sizes.k * byteSize(sizes.dtype) * (sizes.ranks - 1));
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

double linkMicroseconds(int64_t bytes) { return double(bytes) / kBytesPerMicrosecond; }

// A copy more costs the link some microseconds, so few are made: in small pieces travel only the first data, for which programs without
// own rows wait, and where the link is what takes longest the last data, after which nothing is left to multiply but its part of a tile.
Slices slicesOf(const GemmSizes& sizes, int blockK, int asked) {
  int64_t steps = cdiv(sizes.k, blockK), perSlice = cdiv(steps, std::min<int64_t>(asked ? asked : kSlices, steps));
  Slices slices{cdiv(steps, perSlice), perSlice * blockK, {}};
  int all = int(slices.count);
  bool linkBound = gatherMicroseconds(sizes) > gemmMicroseconds(sizes);
  for (int d = 0; d + 1 < sizes.ranks; ++d) {
    bool first = d == 0 && !linkBound, last = d + 2 == sizes.ranks && linkBound;
    if (asked)
      slices.copies.emplace_back(all, 1);
    else if (all == kSlices && first)
      slices.copies.push_back({1, 1, 2, 4});
    else if (all == kSlices && last)
      slices.copies.push_back({4, 2, 1, 1});
    else
      slices.copies.push_back({all});
  }
  return slices;
}

}  // namespace tandem::ops
