// Tiles that were measured on H200s, with the products' rates.
#include "ops/gemm_tiles.h"
#include <algorithm>
#include <array>
#include <bit>

namespace tandem::ops {
namespace {

constexpr Tile kByPointers = {64, 64, 32, 4, 3, .085};  // no copies of blocks
constexpr double kFp32ByPointers = .85;
// Inner sizes are those of 2-byte elements.
constexpr std::array<Tile, 4> kByBlocks = {
    {{128, 256, 64, 8, 4, 1}, {128, 128, 64, 8, 5, .94}, {64, 128, 128, 4, 4, .6}, {64, 64, 128, 4, 6, .42}}};
// Some operators have these too. Where B is not transposed their products do not share an instruction, and have the
// second rate.
constexpr std::array<std::pair<Tile, double>, 2> kUneven = {
    {{{128, 224, 64, 8, 4, 1}, .93}, {{128, 192, 64, 8, 5, .98}, .97}}};

constexpr int kSimulatedPrograms = 32;
constexpr int kGroup = 8;

void fill(int& value, int chosen) {
  if (!value) value = chosen;
}

}  // namespace

std::vector<Tile> tilesFor(bool uneven, DType dtype, const GemmPlace& place) {
  if (place.target == "sim") return {kSimulated};
  if (!place.blocks) return {kByPointers};
  std::vector<Tile> tiles(kByBlocks.begin(), kByBlocks.end());
  if (uneven)
    for (const auto& [tile, apart] : kUneven) tiles.push_back(tile);
  for (Tile& tile : tiles) tile.k = int(tile.k * 2 / byteSize(dtype));
  return tiles;
}

GemmConfig filled(const GemmConfig& given, const Tile& tile, const GemmPlace& place) {
  GemmConfig config = given;
  fill(config.blockM, tile.m);
  fill(config.blockN, tile.n);
  if (!place.blocks) config.blockN = int(std::bit_floor(unsigned(config.blockN)));
  fill(config.blockK, tile.k);
  fill(config.numWarps, tile.warps);
  fill(config.numStages, tile.stages);
  fill(config.group, kGroup);
  fill(config.programs, place.target == "sim" ? kSimulatedPrograms : place.residentPrograms);
  config.programs = std::min(config.programs, place.residentPrograms);
  return config;
}

double rateOf(const GemmConfig& config, DType dtype, const GemmPlace& place) {
  if (!place.blocks) return byteSize(dtype) >= 4 ? kFp32ByPointers : kByPointers.rate;
  auto intensity = [](int m, int n) { return double(m) * n / (m + n); };
  for (const Tile& tile : kByBlocks)
    if (tile.m == config.blockM && tile.n == config.blockN) return tile.rate;
  for (const auto& [tile, apart] : kUneven)
    if (tile.m == config.blockM && tile.n == config.blockN) return config.bTransposed ? tile.rate : apart;
  return std::min(1.0, intensity(config.blockM, config.blockN) / intensity(kByBlocks[0].m, kByBlocks[0].n));
}

LaunchConfig launchOf(const GemmConfig& config, int stream, bool waits) {
  return {.grid = {config.programs, 1, 1},
          .numWarps = config.numWarps,
          .stream = stream,
          .numStages = config.numStages,
          .cooperative = waits};
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

}  // namespace tandem::ops
