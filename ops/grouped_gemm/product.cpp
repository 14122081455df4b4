// Tiles of grouped products, and their launches.
#include "ops/grouped_gemm/product.h"
#include "ops/cdiv.h"
#include "ops/kernel_text.h"
#include "ops/plan.h"
#include <algorithm>

namespace tandem::ops {
namespace {

struct Tile {
  int m, n, k, warps, stages;
};

constexpr int kSimulatedPrograms = 8;
constexpr Tile kSimulated = {16, 32, 32, 2, 3};
// By the rows of a block; inner sizes are those of 2-byte elements.
constexpr Tile kByBlocks[] = {{128, 256, 64, 8, 4}, {64, 128, 64, 4, 4}, {16, 128, 128, 4, 4}};
constexpr Tile kGathered[] = {{128, 256, 64, 8, 4}, {64, 128, 64, 4, 3}, {16, 128, 128, 4, 3}};
constexpr Tile kByPointers[] = {{64, 64, 32, 4, 3}, {16, 64, 32, 4, 3}};

template <size_t count>
Tile tileFor(const Tile (&tiles)[count], int rows) {
  for (const Tile& tile : tiles)
    if (tile.m <= rows) return tile;
  return tiles[count - 1];
}

void fill(int& value, int chosen) {
  if (!value) value = chosen;
}

}  // namespace

std::vector<Size> groupedSizes() {
  return {{"max_m", "the most tokens of all ranks"},
          {"n", "columns of the result"},
          {"k", "columns of the rows that are multiplied"},
          {"experts", "that share the rows"},
          {"top_k", "experts of a token"}};
}

GroupedProduct::GroupedProduct(const Table& table, Team& team, int64_t n, int64_t k, int64_t experts, int64_t topK,
                               DType dtype, const GroupedConfig& config, const GroupedWay& way)
    : team_(team), n_(n), k_(k), experts_(experts), topK_(topK), dtype_(dtype), config_(config), way_(way) {
  checkExperts(table, experts, topK);
  fill(config_.programs, team.target() == "sim" ? kSimulatedPrograms : team.residentPrograms());
  config_.programs = std::min(config_.programs, team.residentPrograms());
}

GroupedConfig GroupedProduct::tiles(int64_t m) const {
  GroupedConfig config = config_;
  config.blockM = blockRows(m * topK_, experts_, config_, team_.target());
  Tile tile = kSimulated;
  if (team_.target() != "sim") {
    bool blocks = dtype_ != DType::Float32 && k_ * byteSize(dtype_) % 16 == 0;
    tile = !blocks       ? tileFor(kByPointers, config.blockM)
           : way_.gather ? tileFor(kGathered, config.blockM)
                         : tileFor(kByBlocks, config.blockM);
    tile.k = blocks ? tile.k * 2 / int(byteSize(dtype_)) : tile.k;
    // Two sums share the registers.
    if (way_.gated) tile.n /= 2;
  }
  fill(config.blockN, tile.n);
  fill(config.blockK, tile.k);
  fill(config.numWarps, tile.warps);
  fill(config.numStages, tile.stages);
  return config;
}

void GroupedProduct::launch(const Tensor& a, const Tensor& w, const Tensor& out, const Tensor& route, int64_t m,
                            int stream, const Awaited* awaited, const Counted* counted, int programs) const {
  GroupedConfig config = tiles(m);
  if (programs) config.programs = programs;
  int64_t slots = m * topK_, rows = way_.gather ? m : slots, bytes = byteSize(dtype_);
  int64_t columnsOfW = n_ * (way_.gated ? 2 : 1);
  bool blocksOfB = copiesBlocks({{w.address, {experts_ * columnsOfW, k_}, dtype_}}, dtype_, true, team_.target());
  bool blocksOfA =
      !way_.gather && blocksOfB && copiesBlocks({{a.address, {rows, k_}, dtype_}}, dtype_, true, team_.target());
  // The offset of this rank's tokens in `own`, seen from `a`.
  int64_t apart = 0, shard = std::max<int64_t>(m, 1);
  if (awaited) {
    apart = (int64_t(awaited->own.address) - int64_t(a.address)) / bytes - team_.rank() * awaited->shardRows * k_;
    shard = awaited->shardRows;
  }
  const Tensor& none = route;
  LaunchConfig launch{
      .grid = {config.programs, 1, 1}, .numWarps = config.numWarps, .stream = stream, .numStages = config.numStages};
  team_.launch(kernelOf("ops/grouped_gemm/grouped_gemm.py", "grouped_gemm"), launch,
               {a, w, out, route, awaited ? awaited->ready : none, awaited ? awaited->done : none,
                awaited ? awaited->ended : none, awaited ? awaited->epoch : none, counted ? counted->brought : none,
                rows, n_, k_, slots, shard, apart, counted ? counted->columns / config.blockN : int64_t(1)},
               {{"BLOCK_M", int64_t(config.blockM)},
                {"BLOCK_N", int64_t(config.blockN)},
                {"BLOCK_K", int64_t(config.blockK)},
                {"PROGRAMS", int64_t(config.programs)},
                {"E", experts_},
                {"TOP_K", topK_},
                {"BLOCKS_OF_A", blocksOfA},
                {"BLOCKS_OF_B", blocksOfB},
                {"EVEN_K", k_ % config.blockK == 0},
                {"GATED", way_.gated},
                {"GATHER", way_.gather},
                {"SCATTER", way_.scatter},
                {"WEIGH", way_.weigh},
                {"AWAITED", awaited != nullptr},
                {"COUNTED", counted != nullptr}});
}

}  // namespace tandem::ops
