// Tiles of grouped products, and their launches.
#include "ops/grouped_gemm/product.h"
#include "ops/cdiv.h"
#include "ops/kernel_text.h"
#include "ops/gemm_choice.h"
#include <algorithm>
#include <cmath>
#include <numbers>

namespace tandem::ops {
namespace {

struct Tile {
  int m, n, k, warps, stages;
  int blocks = 1;  // that share a multiprocessor, and hide each other's ends
};

constexpr int kSimulatedPrograms = 8;
constexpr int64_t kHalfLine = 64;                              // bytes: half a line of the cache
constexpr int64_t kPieceSteps = 16, kSimulatedPieceSteps = 1;  // of a piece of a tile, at least
constexpr int kUnitRows = 64;                                  // the fewest rows that the unit multiplies
constexpr int kMixedColumns = 256, kSimulatedMixedColumns = 32;
constexpr int kRegisters = 160;  // of a thread of 12 warps, beside which another kernel has room
constexpr Tile kSimulated = {16, 32, 32, 2, 3};
// By the rows of a block; inner sizes are those of 2-byte elements. Of fp8 with scales each product is awaited before the
// next one, so that two blocks share a multiprocessor.
constexpr Tile kByBlocks[] = {{128, 256, 64, 8, 4}, {64, 128, 64, 4, 8}, {16, 128, 64, 4, 6, 2}};
constexpr Tile kScaledTiles[] = {{128, 256, 64, 8, 4}, {64, 128, 64, 4, 4, 2}, {16, 128, 64, 4, 6, 2}};
constexpr Tile kFewest = {64, 64, 64, 4, 6, 2};  // of few rows and columns
constexpr int kMostStages = 8;
constexpr Tile kNarrow = {128, 128, 64, 8, 5};  // instead of the first of these, see areNarrowQuicker
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

// Returns the number of tiles of a call.
int64_t tilesOf(double rowBlocks, int64_t columns, int width) {
  return int64_t(std::ceil(rowBlocks * double(cdiv(columns, width)) - .5));
}

// How many times as long narrow tiles take that leave as little to waste, on H200s (docs/performance/moe.md). Where rows
// are no whole halves of the cache's lines, they read more of these, and narrow tiles have more rows. Rows that threads
// copy are copied for each tile, where gate and up columns share them above all. Of fp8 few steps are less than the ends of
// wide tiles.
double narrowLonger(const GroupedWay& way, bool fp8, int64_t k, bool areAligned) {
  constexpr int64_t kFewScaled = 1024;
  if (fp8) return k < kFewScaled ? 0 : !areAligned ? 1.3 : way.gather ? 1.08 : 1.02;
  return way.gather ? (way.gated ? 1.4 : 1.1) : areAligned ? 1.02 : 1.15;
}

// A tensor that may be left out; the kernel does not look at what stands in its place.
const Tensor& orRoute(const Tensor& given, const Tensor& route) { return given.address ? given : route; }

}  // namespace

double expectedBlocks(int64_t m, int64_t topK, int64_t experts, int rows, int ranks) {
  double share = std::min(1.0, double(topK) / double(experts * ranks)), mean = double(m) * share,
         blocks = 1 - std::pow(1 - share, m);
  double deviation = std::sqrt(std::max(mean * (1 - share), 1e-6));
  auto last = int64_t(mean + 4 * deviation) / rows;
  auto sure = std::clamp<int64_t>(int64_t(mean - 4 * deviation) / rows, 0, last);
  blocks = sure > 0 ? double(sure) + 1 : blocks;
  for (int64_t i = sure + 1; i <= last; ++i)  // that an expert has more than i blocks' rows
    blocks += std::erfc((double(i * rows) + .5 - mean) / deviation / std::numbers::sqrt2) / 2;
  return double(experts) * blocks;
}

bool areNarrowQuicker(double rowBlocks, int64_t columns, int programs, double longer) {
  auto taken = [&](int tile) { return double(cdiv(tilesOf(rowBlocks, columns, tile), programs) * tile); };
  return taken(256) > taken(128) * longer;
}

const std::vector<DType>& groupedTypes() {
  static const std::vector<DType> types = {DType::Float16, DType::BFloat16, DType::Float32, DType::Float8E4NV};
  return types;
}

Operand biasOperand(const std::string& name, const std::string& columns, bool gated) {
  return {.name = name,
          .shape = {"experts", columns + (gated ? " + gated*" + columns : "")},
          .always = DType::Float32,
          .givenBy = "any"};
}

Operand scalesOperand(const std::string& name, std::vector<std::string> shape) {
  return {.name = name, .shape = std::move(shape), .always = DType::Float32, .givenBy = "fp8"};
}

std::vector<Size> groupedSizes() {
  return {{"max_m", "the most tokens of all ranks"},
          {"n", "columns of the result"},
          {"k", "columns of the rows that are multiplied"},
          {"experts", "that share the rows"},
          {"top_k", "experts of a token"}};
}

Table firstGroupedTable(const char* name, const char* className, const char* what, const std::string& rowsOfX,
                        const char* tokens) {
  return {.name = name,
          .className = className,
          .what = what,
          .sizes = groupedSizes(),
          .types = groupedTypes(),
          .typeWords = kGroupedTypes,
          .tensors = {{.name = "x", .shape = {rowsOfX, "k"}},
                      {.name = "w", .shape = {"experts", "n + gated*n", "k"}},
                      {.name = "route", .shape = {kRouteWords}, .always = DType::Int32},
                      biasOperand("bias", "n", true),
                      scalesOperand("x_scales", {rowsOfX, "scales(k)"}),
                      scalesOperand("w_scales", {"experts", "scales(n) + gated*scales(n)", "scales(k)"}),
                      {.name = "out_scales",
                       .shape = {"m*top_k", "scales(n)"},
                       .isOutput = true,
                       .always = DType::Float32,
                       .givenBy = "quantised"},
                      {.name = "out",
                       .shape = {"m*top_k", "n"},
                       .isOutput = true,
                       .ofFp8 = DType::BFloat16,
                       .quantisedBy = "quantised"}},
          .numbers = {{"m", Number::Kind::Rows, tokens}},
          .options = {}};
}

Table secondGroupedTable(const char* name, const char* className, const char* what, const char* rowsOfOut,
                         const char* tokens) {
  return {.name = name,
          .className = className,
          .what = what,
          .sizes = groupedSizes(),
          .types = groupedTypes(),
          .typeWords = kGroupedTypes,
          .tensors = {{.name = "h", .shape = {"m*top_k", "k"}},
                      {.name = "w", .shape = {"experts", "n", "k"}},
                      {.name = "route", .shape = {kRouteWords}, .always = DType::Int32},
                      biasOperand("bias", "n", false),
                      scalesOperand("h_scales", {"m*top_k", "scales(k)"}),
                      scalesOperand("w_scales", {"experts", "scales(n)", "scales(k)"}),
                      {.name = "out", .shape = {rowsOfOut, "n"}, .isOutput = true, .ofFp8 = DType::BFloat16}},
          .numbers = {{"m", Number::Kind::Rows, tokens}},
          .options = {}};
}

GroupedProduct::GroupedProduct(const Table& table, Team& team, Memory* memory, int64_t maxM, int64_t n, int64_t k,
                               int64_t experts, int64_t topK, DType dtype, const GroupedConfig& config,
                               const GroupedWay& way, const Tensor& findings)
    : team_(team), n_(n), k_(k), experts_(experts), topK_(topK), dtype_(dtype), config_(config), way_(way),
      findings_(findings) {
  int ranks = way.own ? team.size() : 1;
  checkExperts(table, experts * ranks, topK, ranks);
  auto demand = [&](const char* name, int value, bool isRight, const char* why) {
    if (value && !isRight) throw Error("`" + table.name + "`: `" + name + "` is " + std::to_string(value) + ", " + why);
  };
  if (isFp8(dtype)) {
    demand("block_k", config.blockK, config.blockK == kScaled, "fp8 needs 128, which share a scale");
    bool isPair = config.blockN == 2 * kScaled && !way.gated;
    demand("block_n", config.blockN, config.blockN <= kScaled || isPair,
           way.gated ? "fp8 needs at most 128, which share a scale"
                     : "fp8 needs at most 128, which share a scale, or 256");
  }
  if (way.quantise)
    demand("block_n", config.blockN, config.blockN == kScaled, "`quantised` needs 128, which share a scale");
  if (!memory) return;
  int64_t sums = 0, programs = 0;
  for (int64_t m = maxM; m; m /= 2) {  // tiles that calls have; those for which there is no room stay whole
    GroupedConfig c = tiles(m);
    if (!leastSteps(c, 1)) continue;
    sums = std::max(sums, sumsOf(c));
    programs = std::max<int64_t>(programs, c.programs);
  }
  if (!programs) return;
  memory->share(config.shared);
  sums_ = memory->localScratch({sums}, DType::Float32, "sums of pieces");
  left_ = memory->localZeros({programs}, DType::Int32, "left");
}

// Few tiles are cut along a long inner size where half of the programs would have none, into pieces of at least so many
// steps; 0: into none.
int64_t GroupedProduct::leastSteps(const GroupedConfig& config, int64_t m) const {
  int64_t least = team_.target() == "sim" ? kSimulatedPieceSteps : kPieceSteps;
  int64_t tiles = tilesOf(blocksOf(m, config.blockM), n_, config.blockN);
  return 2 * tiles <= config.programs && cdiv(k_, config.blockK) >= 3 * least ? least : 0;
}

int64_t GroupedProduct::sumsOf(const GroupedConfig& config) const {
  return int64_t(config.programs) * config.blockM * config.blockN * (way_.gated ? 2 : 1);
}

double GroupedProduct::blocksOf(int64_t m, int rows) const {
  return expectedBlocks(m, topK_, experts_, rows, way_.own ? team_.size() : 1);
}

// Copied rows and scales leave a thread too few registers; gate and up columns that come in halves are joined in fp32 when
// they change threads, for which there is no shared memory.
bool GroupedProduct::isMixable() const {
  return !way_.packed && !way_.quantise && !way_.gated && way_.gather + isFp8(dtype_) <= 1;
}

// Wide tiles of which some have the first half of their columns alone: no column and no last round wastes more than half a
// tile.
bool GroupedProduct::isMixed(const GroupedConfig& config) const {
  int columns = team_.target() == "sim" && !isFp8(dtype_) ? kSimulatedMixedColumns : kMixedColumns;
  return isMixable() && config.blockM >= kUnitRows && config.blockN * (way_.gated ? 2 : 1) >= columns;
}

GroupedConfig GroupedProduct::tiles(int64_t m) const {
  GroupedConfig config = config_;
  config.blockM = blockRows(m * topK_, experts_, config_, team_.target());
  Tile tile = kSimulated;
  if (team_.target() != "sim") {
    bool blocks = dtype_ != DType::Float32 && k_ * byteSize(dtype_) % 16 == 0;
    tile = !blocks         ? tileFor(kByPointers, config.blockM)
           : isFp8(dtype_) ? tileFor(kScaledTiles, config.blockM)
                           : tileFor(kByBlocks, config.blockM);
    int64_t columns = n_ * (way_.gated ? 2 : 1);
    int programs = team_.residentPrograms();
    bool isFree = blocks && !config.blockN && !way_.quantise;
    double rowBlocks = blocksOf(m, config.blockM);
    bool areAligned = k_ * byteSize(dtype_) % kHalfLine == 0;
    double longer = narrowLonger(way_, isFp8(dtype_), k_, areAligned);
    bool areHalvesEnough = columns <= kNarrow.n || 2 * tilesOf(rowBlocks, columns, tile.n) <= programs;
    if (isFree && tile.n > kNarrow.n &&
        (areHalvesEnough || !longer || (!isMixable() && areNarrowQuicker(rowBlocks, columns, programs, longer))))
      tile = kNarrow;
    // Few tiles have fewer columns where each still has a multiprocessor: what it reads comes the sooner. Where B's rows
    // are the products', each of gate and up columns needs as many.
    bool isFew = tile.m < kNarrow.m && tilesOf(rowBlocks, columns, kFewest.n) <= programs;
    if (isFree && isFew && !isFp8(dtype_) && !(way_.gated && tile.m < kFewest.m))
      tile = {tile.m, kFewest.n, kFewest.k, kFewest.warps, tile.m < kFewest.m ? kMostStages : kFewest.stages, 2};
    tile.k = blocks ? tile.k * 2 / int(byteSize(dtype_)) : tile.k;
    // Two sums share the registers.
    if (way_.gated) tile.n /= 2;
  }
  if (isFp8(dtype_)) {
    tile.k = kScaled;
    // A scale is of 128 columns: wide tiles have two products. Results that go from these to memory as they are leave no
    // registers for both.
    tile.n = std::min<int>(tile.n, way_.packed || way_.gated ? kScaled : 2 * kScaled);
  }
  if (way_.quantise) tile.n = kScaled;
  fill(config.blockN, tile.n);
  fill(config.blockK, tile.k);
  fill(config.numWarps, tile.warps);
  fill(config.numStages, tile.stages);
  fill(config.programs, team_.target() == "sim" ? kSimulatedPrograms : tile.blocks * team_.residentPrograms());
  return config;
}

void GroupedProduct::launch(const Tensor& a, const Tensor& w, const Tensor& out, const Tensor& route, int64_t m,
                            int stream, const More& more, const Awaited* awaited, const GroupedColumns& columns,
                            const Counted* counted) const {
  GroupedConfig config = tiles(m);
  bool hasRoom = left_.address && sumsOf(config) <= sums_.shape[0] && config.programs <= left_.shape[0];
  int64_t slots = m * topK_, rows = way_.gather ? m : slots, bytes = byteSize(dtype_);
  int64_t columnsOfW = n_ * (way_.gated ? 2 : 1);
  bool blocksOfB = copiesBlocks({Tensor{w.address, {experts_ * columnsOfW, k_}, dtype_}}, dtype_, true, team_.target());
  bool blocksOfA =
      !way_.gather && blocksOfB && copiesBlocks({Tensor{a.address, {rows, k_}, dtype_}}, dtype_, true, team_.target());
  // The offsets of this rank's tokens in `own`, and of their scales, seen from `a`.
  int64_t apart = 0, apartScales = 0, shard = std::max<int64_t>(m, 1);
  if (awaited) {
    apart = (int64_t(awaited->own.address) - int64_t(a.address)) / bytes - team_.rank() * awaited->shardRows * k_;
    shard = awaited->shardRows;
    if (isFp8(dtype_))
      apartScales = (int64_t(awaited->ownScales.address) - int64_t(more.xScales.address)) / 4 -
                    team_.rank() * shard * cdiv(k_, kScaled);
  }
  const Tensor& none = route;
  int64_t cut = hasRoom && !awaited && !counted ? leastSteps(config, m) : 0;
  LaunchConfig launch{
      .grid = {config.programs, 1, 1}, .numWarps = config.numWarps, .stream = stream, .numStages = config.numStages};
  if (counted && config.numWarps == 8) launch.maxRegisters = kRegisters;
  team_.launch(kernelOf("ops/grouped_gemm/grouped_gemm.py", "grouped_gemm"), launch,
               {a,
                w,
                out,
                route,
                awaited ? awaited->ready : none,
                counted ? counted->brought : none,
                orRoute(more.bias, none),
                orRoute(more.xScales, none),
                orRoute(more.wScales, none),
                orRoute(more.outScales, none),
                findings_,
                orRoute(sums_, none),
                orRoute(left_, none),
                rows,
                columns.count ? columns.count : n_,
                k_,
                slots,
                shard,
                apart,
                apartScales,
                awaited ? awaited->early : 0,
                columnsOfW,
                columns.first,
                counted ? cdiv(counted->columns, config.blockN) : 1},
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
                {"COUNTED", counted != nullptr},
                {"PACKED", way_.packed},
                {"BIASED", more.bias.address != 0},
                {"SCALED", isFp8(dtype_)},
                {"QUANTISE", way_.quantise},
                {"CLEARS", !way_.own},
                {"CUT", cut},
                {"MIXED", blocksOfB && !cut && isMixed(config)}});
}

}  // namespace tandem::ops
