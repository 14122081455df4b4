// Tiles and slices worth considering, put in order by the model.
#include "ops/plan.h"
#include "ops/predict.h"
#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>

namespace tandem::ops {
namespace {

using model::Machine;

struct Tile {
  int m, n, k, warps, stages;
  double rate;  // of the largest tile's, where many are multiplied
};

constexpr Tile kSimulated = {64, 64, 32, 4, 3, 1};
constexpr Tile kByPointers = {64, 64, 32, 4, 3, 1};  // no copies of blocks, or fp32
// Inner sizes are those of 2-byte elements.
constexpr std::array<Tile, 4> kByBlocks = {
    {{128, 256, 64, 8, 4, 1}, {128, 128, 64, 8, 5, .94}, {64, 128, 128, 4, 4, .6}, {64, 64, 128, 4, 6, .42}}};
// GemmOp::AllGather has these too. Where B is not transposed their products do not share an instruction, and have the
// second rate.
constexpr std::array<std::pair<Tile, double>, 2> kUneven = {
    {{{128, 224, 64, 8, 4, 1}, .93}, {{128, 192, 64, 8, 5, .98}, .97}}};

constexpr int kSimulatedPrograms = 32, kSimulatedChunks = 3;
constexpr int kGroup = 8;
constexpr int kGroupInBands = 4;  // follows the rows as they come more closely
constexpr int kSlices = 12;
// Two ranks: of the product's time.
constexpr double kBusyLink = .7;
// Copies of narrower columns, in bytes, are much slower.
constexpr int64_t kColumns = 2048;
// Where there are more tiles, how the first ones begin and the last ones end is nothing.
constexpr int64_t kTilesWorthSlicing = 3000;
// With pieces only the quickest ways without are tried.
constexpr size_t kWaysWorthCutting = 6;
// All pieces together take this many rounds at most.
constexpr int kRoundsOfPieces = 3;
// A copy more, where nobody waits for it: the link's and the host's.
constexpr double kSpareCopyUs = .3;

bool hasBlockCopies(const std::string& target) {
  return target.starts_with("sm_") && std::atoi(target.c_str() + 3) >= 90;
}

std::vector<Tile> tilesFor(GemmOp op, DType dtype, const GemmPlace& place) {
  if (place.target == "sim") return {kSimulated};
  if (!place.blocks) return {kByPointers};
  std::vector<Tile> tiles(kByBlocks.begin(), kByBlocks.end());
  if (op == GemmOp::AllGather)
    for (const auto& [tile, apart] : kUneven) tiles.push_back(tile);
  for (Tile& tile : tiles) tile.k = int(tile.k * 2 / byteSize(dtype));
  return tiles;
}

void fill(int& value, int chosen) {
  if (!value) value = chosen;
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

// Returns the rate relative to the largest tile's: a measured one, else one by the operations for each element that is
// read.
double rateOf(const GemmConfig& config) {
  auto intensity = [](int m, int n) { return double(m) * n / (m + n); };
  for (const Tile& tile : kByBlocks)
    if (tile.m == config.blockM && tile.n == config.blockN) return tile.rate;
  for (const auto& [tile, apart] : kUneven)
    if (tile.m == config.blockM && tile.n == config.blockN) return config.bTransposed ? tile.rate : apart;
  return std::min(1.0, intensity(config.blockM, config.blockN) / intensity(kByBlocks[0].m, kByBlocks[0].n));
}

// The one shard of two ranks may be more than a round of tiles: while the link has much to carry, the first need not wait for all.
int bandsFor(const GemmSizes& sizes, const GemmConfig& given, const GemmPlace& place, const Machine& machine) {
  if (given.bands) return given.bands;
  int64_t shard = shardRows(sizes.m, sizes.ranks);
  if (sizes.ranks != 2 || place.target == "sim" || !given.copies.empty() ||
      double(cdiv(shard, 128) * cdiv(sizes.n, 128)) <= machine.multiprocessors)  // a round of small tiles
    return 1;
  double bytes = double(shard * sizes.k * byteSize(sizes.dtype));
  double operations = 2.0 * double(sizes.m) * double(sizes.n) * double(sizes.k);
  return bytes / machine.copyBytes() > kBusyLink * operations / machine.operations(byteSize(sizes.dtype)) ? 2 : 1;
}

// Returns bands and slices that are the same on every rank: whole steps of the inner size, whichever tile a rank takes.
Slices slicesWithoutCopies(const GemmSizes& sizes, const GemmConfig& given, const GemmPlace& place,
                           const Machine& machine) {
  constexpr int64_t deepest = 256;  // bytes of a tile's inner size
  int64_t step = place.target == "sim" ? kSimulated.k : (given.slices ? deepest : kColumns) / byteSize(sizes.dtype);
  if (given.blockK) step = place.target == "sim" ? given.blockK : std::max<int64_t>(step, given.blockK);
  int64_t steps = cdiv(sizes.k, step),
          perSlice = cdiv(steps, std::min<int64_t>(given.slices ? given.slices : kSlices, steps));
  int64_t most = std::max(given.blockM, place.target == "sim" ? kSimulated.m : kByBlocks[0].m);
  int bands = bandsFor(sizes, given, place, machine);
  int64_t bandRows = cdiv(cdiv(shardRows(sizes.m, sizes.ranks), most), bands) * most;
  return {cdiv(steps, perSlice), perSlice * step, bands, bandRows};
}

using Copies = std::vector<int>;

// Small pieces first, for programs that wait for the first data: 1, 1, 2, 4, ...
Copies growing(int slices) {
  Copies out;
  for (int done = 0; done < slices; done += out.back()) {
    int next = std::max(1, done), left = slices - done;
    out.push_back(left < 2 * next ? left : next);
  }
  return out;
}

Copies reversed(Copies copies) {
  std::reverse(copies.begin(), copies.end());
  return copies;
}

// Small at both ends.
Copies swelling(int slices) {
  Copies out = growing(slices / 2), back = reversed(growing(slices - slices / 2));
  out.insert(out.end(), back.begin(), back.end());
  return out;
}

// Returns the ways in which the slices of a peer may travel. A copy more costs the link some microseconds, so there are
// ways for a rank that waits for the first data, for the last, and for both.
std::vector<Copies> different(int slices, std::initializer_list<Copies> more) {
  std::vector<Copies> ways = {{slices}};
  for (const Copies& way : more)
    if (slices > 1 && std::find(ways.begin(), ways.end(), way) == ways.end()) ways.push_back(way);
  return ways;
}
// `last` at the end, twice as many before, and so on.
Copies tapered(int slices, int last) {
  Copies out;
  for (int left = slices, next = last; left > 0; left -= out.back(), next *= 2)
    out.push_back(left < 2 * next ? left : next);
  return reversed(out);
}
Copies halves(int slices) { return {slices / 2, slices - slices / 2}; }
std::vector<Copies> waysForFirst(int slices) {
  return different(slices, {halves(slices), growing(slices), {1, slices - 1}});
}
std::vector<Copies> waysForLast(int slices) {
  return different(slices, {halves(slices), tapered(slices, 1), tapered(slices, 2), {slices - 1, 1}});
}
std::vector<Copies> waysForBoth(int slices) {
  return different(slices, {halves(slices),
                            growing(slices),
                            {1, slices - 1},
                            tapered(slices, 1),
                            tapered(slices, 2),
                            {slices - 1, 1},
                            swelling(slices)});
}

// Programs may wait for the first band, for the last one after everything else, and where the link takes longest for all.
void sliceBands(const GemmConfig& given, const Slices& slices, int peers, bool simulated, std::vector<Slices>& out) {
  int all = int(slices.count);
  size_t parts = size_t(peers * slices.bands);
  auto add = [&](const Copies& first, const Copies& middle, const Copies& last) {
    Slices& way = out.emplace_back(slices);
    way.copies.assign(parts, middle);
    if (parts) way.copies.front() = first, way.copies.back() = last;
  };
  if (given.slices) return add(Copies(size_t(all), 1), Copies(size_t(all), 1), Copies(size_t(all), 1));
  if (simulated && parts == 1) add({}, {}, swelling(all));
  if (simulated && parts > 1) add(growing(all), {all}, reversed(growing(all)));
  if (parts < 2) {
    for (const Copies& way : waysForBoth(parts ? all : 1)) add({}, {}, way);
    return;
  }
  for (const Copies& first : waysForFirst(all))
    for (const Copies& last : waysForLast(all)) {
      add(first, {all}, last);
      if (parts < 3 || all == 1) continue;
      add(first, halves(all), last);
      if (all > 4) add(first, tapered(all, 2), last);
    }
}

std::vector<Slices> waysToSlice(const GemmSizes& sizes, const GemmConfig& given, const GemmPlace& place,
                                const Machine& machine) {
  Slices slices = slicesWithoutCopies(sizes, given, place, machine);
  slices.copies = given.copies;
  std::vector<Slices> out;
  if (!given.copies.empty()) return {slices};
  sliceBands(given, slices, sizes.ranks - 1, place.target == "sim", out);
  return out;
}

int64_t tilesOfShard(const GemmSizes& sizes, const GemmConfig& config) {
  return cdiv(shardRows(sizes.m, sizes.ranks), config.blockM) * cdiv(sizes.n, config.blockN);
}

int64_t tileCount(const GemmSizes& sizes, const GemmConfig& config) {
  return cdiv(sizes.m, shardRows(sizes.m, sizes.ranks)) * tilesOfShard(sizes, config);
}

// Returns the numbers of pieces into which the tiles left over for the last round may be cut.
std::vector<int> waysToCut(GemmOp op, const GemmConfig& config, const GemmSizes& sizes, const GemmPlace& place) {
  if (op != GemmOp::AllGather) return {0};
  int64_t left = tileCount(sizes, config) % config.programs;
  if (!left || !std::has_single_bit(unsigned(config.blockN))) return {1};
  if (config.pieces) return {config.pieces};
  std::vector<int> ways = {1};
  for (int pieces : {2, 3, 4})
    if (left * pieces <= kRoundsOfPieces * config.programs) ways.push_back(pieces);
  if (place.target == "sim") std::reverse(ways.begin(), ways.end());
  return ways;
}

size_t copiesOf(const Slices& slices) {
  size_t count = 0;
  for (const Copies& copies : slices.copies) count += copies.size();
  return count;
}

// In how many copies parts travel, 0: programs store them.
std::vector<int> waysToSend(GemmOp op, const GemmConfig& config, const GemmSizes& sizes, const GemmPlace& place) {
  if (op == GemmOp::AllGather || config.chunks >= 0) return {config.chunks};
  if (sizes.ranks == 1) return {0};
  if (place.target == "sim") return {kSimulatedChunks, 0};
  return {4, 2, 8, 0};
}

std::vector<GemmChoice> inOrder(std::vector<GemmChoice> choices, bool keepsFirst) {
  std::vector<std::pair<double, size_t>> costs;
  for (const GemmChoice& c : choices)
    costs.emplace_back(c.microseconds + kSpareCopyUs * double(copiesOf(c.slices)), costs.size());
  std::sort(costs.begin() + keepsFirst, costs.end());
  std::vector<GemmChoice> out;
  for (auto [cost, at] : costs) out.push_back(std::move(choices[at]));
  return out;
}

}  // namespace

bool copiesBlocks(const std::vector<Tensor>& tensors, DType operands, bool bTransposed, const std::string& target) {
  bool fits = std::all_of(tensors.begin(), tensors.end(), [](const Tensor& t) {
    return t.address % 16 == 0 && t.shape.back() * byteSize(t.dtype) % 16 == 0;
  });
  if (!fits || target == "sim") return fits;
  return hasBlockCopies(target) && operands != DType::Float32 && (byteSize(operands) > 1 || bTransposed);
}

std::vector<GemmChoice> choices(GemmOp op, const GemmConfig& given, const GemmSizes& sizes, const GemmPlace& place,
                                const Machine& machine) {
  if (op == GemmOp::AllGather) checkCopies(given, sizes, place, machine);
  std::vector<GemmChoice> out;
  std::vector<Slices> all =
      op == GemmOp::AllGather ? waysToSlice(sizes, given, place, machine) : std::vector<Slices>(1);
  std::vector<std::pair<int, int>> seen;
  for (const Tile& tile : tilesFor(op, sizes.dtype, place)) {
    GemmConfig config = filled(given, tile, place);
    if (std::find(seen.begin(), seen.end(), std::pair(config.blockM, config.blockN)) != seen.end()) continue;
    seen.emplace_back(config.blockM, config.blockN);
    size_t sliced = tileCount(sizes, config) > kTilesWorthSlicing ? 1 : all.size();
    std::vector<int> cuts = waysToCut(op, config, sizes, place);
    auto consider = [&](int chunks, const Slices& way, int pieces) {
      GemmChoice& choice = out.emplace_back(config, way);
      choice.config.chunks = chunks;
      if (op == GemmOp::AllGather) choice.config.bands = int(way.bands);
      if (!given.group && way.bands > 1) choice.config.group = kGroupInBands;
      choice.config.pieces = pieces;
      choice.microseconds = predicted(op, sizes, choice, rateOf(config), place.residentPrograms, machine);
    };
    for (int chunks : waysToSend(op, config, sizes, place)) {
      size_t first = out.size();
      for (size_t i = 0; i < sliced; ++i) consider(chunks, all[i], cuts.front());
      std::vector<GemmChoice> best(out.begin() + int64_t(first), out.end());
      std::sort(best.begin(), best.end(),
                [](const GemmChoice& a, const GemmChoice& b) { return a.microseconds < b.microseconds; });
      best.resize(std::min(best.size(), kWaysWorthCutting));
      for (const GemmChoice& way : best)
        for (size_t i = 1; i < cuts.size(); ++i) consider(chunks, way.slices, cuts[i]);
    }
  }
  return inOrder(std::move(out), place.target == "sim");
}

void checkCopies(const GemmConfig& given, const GemmSizes& sizes, const GemmPlace& place, const Machine& machine) {
  if (given.copies.empty()) return;
  auto [wanted, columns, bands, rows, none] = slicesWithoutCopies(sizes, given, place, machine);
  bool fits = int64_t(given.copies.size()) == (sizes.ranks - 1) * bands;
  for (const Copies& copies : given.copies) {
    int64_t sum = 0;
    for (int count : copies) fits &= count > 0, sum += count;
    fits &= sum == wanted;
  }
  if (!fits)
    throw Error("`copies` has to deal all " + std::to_string(wanted) + " slices to each of the " +
                std::to_string(sizes.ranks - 1) + " peers" +
                (bands > 1 ? ", of each of " + std::to_string(bands) + " bands" : ""));
}

int64_t mostPieces(const GemmConfig& given, int64_t programs) {
  return given.pieces == 1 ? 1 : programs * std::max(kRoundsOfPieces, given.pieces);
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
