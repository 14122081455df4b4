// Copies of slices that arrive one after the other, and tiles that begin when their program is free and go on as the
// data comes. The order of the tiles is the kernel's own.
#include "ops/ag_gemm/model.h"
#include "ops/device/tiles.h"
#include "ops/gemm_ar/model.h"
#include "ops/gemm_tiles.h"
#include "ops/product/library_time.h"
#include "ops/product_time.h"
#include <algorithm>
#include <bit>

namespace tandem::ops {
namespace {

using model::Machine;

constexpr int kSlices = 12;
// Of few rows: to hear that all have begun, and to store the first rows.
constexpr double kGatherUs = 2.7;
// Two ranks: of the product's time.
constexpr double kBusyLink = .7;
// Copies of narrower columns, in bytes, are much slower.
constexpr int64_t kColumns = 2048;
// All pieces together take this many rounds at most.
constexpr int kRoundsOfPieces = 3;

// The work that a program does in one go: a tile, or a piece of one along K.
struct Item {
  int64_t tile;
  double begin, end;
  bool isLast;  // adds up the tile's pieces
};

Item itemOf(int64_t item, const ProductTime& tiles) {
  auto [tile, piece] = kernels::piece_of(item, tiles.whole(), tiles.left());
  if (item < tiles.whole()) return {tile, 0, 1, false};
  double share = 1.0 / tiles.pieces;
  return {tile, double(piece) * share, double(piece + 1) * share, piece + 1 == tiles.pieces};
}

// Returns the rate relative to that of whole rows, where `bytes` of each row are copied.
double columnsRate(double bytes) { return std::clamp(.5 + bytes / 10e3, .6, .97); }

// Returns when each slice of each band is there, in the order in which the tiles take them; the own shard is one band.
std::vector<std::vector<double>> arrivals(const GemmSizes& sizes, const Slices& slices, int64_t shards, double begin,
                                          const Machine& machine) {
  int64_t shard = shardRows(sizes.m, sizes.ranks);
  double bytes = double(shard * sizes.k * byteSize(sizes.dtype));
  // With fewer shards than ranks some rank has none of its own.
  double own = shards < sizes.ranks ? begin + machine.copyUs + bytes / machine.copyBytes() : 0;
  std::vector<std::vector<double>> all(1, std::vector<double>(size_t(slices.count), own));
  double now = begin;
  for (int64_t part = 0; part < (shards - 1) * slices.bands; ++part) {
    int64_t rows = std::clamp<int64_t>(shard - part % slices.bands * slices.bandRows, 0, slices.bandRows);
    std::vector<double>& there = all.emplace_back();
    for (int count : slices.copies[size_t(part)]) {
      int64_t first = int64_t(there.size()) * slices.columns;
      double columns = double(std::min(count * slices.columns, sizes.k - first)) * double(byteSize(sizes.dtype));
      double rate = count < slices.count ? columnsRate(columns) : 1;
      if (rows) now += machine.copyUs + double(rows) * columns / (machine.copyBytes() * rate);
      there.insert(there.end(), size_t(count), now);
    }
  }
  return all;
}

double microseconds(const GemmSizes& sizes, const GemmChoice& choice, const ProductTime& tiles,
                    const Machine& machine) {
  const Slices& slices = choice.slices;
  double begin = machine.gemmFillUs + machine.launchUs, end = begin;
  auto there = arrivals(sizes, slices, tiles.shards, begin, machine);
  double pieceBytes = 4.0 * choice.config.blockM * choice.config.blockN;
  double stored = machine.pieceStoreGbps * kBytesOfGb, added = machine.pieceAddGbps * kBytesOfGb;
  std::vector<double> free(size_t(tiles.programs), begin);
  int64_t columns = cdiv(sizes.n, choice.config.blockN), blocks = tiles.ofShard / columns;
  for (int64_t i = 0; i < tiles.items(); ++i) {
    Item item = itemOf(i, tiles);
    auto [nth, block, column] = kernels::gathered_tile(item.tile, blocks, columns, choice.config.group);
    int64_t band = block * choice.config.blockM / slices.bandRows;
    const std::vector<double>& slice = there[size_t(nth ? (nth - 1) * slices.bands + band + 1 : 0)];
    double& now = free[size_t(i % tiles.programs)];
    double whole = tiles.microseconds(i);
    if (slice.back() <= now) {
      now += whole * (item.end - item.begin);
    } else {
      for (int64_t s = 0; s < slices.count; ++s) {
        double first = double(s * slices.columns) / double(sizes.k),
               behind = double((s + 1) * slices.columns) / double(sizes.k);
        double share = std::min({behind, item.end, 1.0}) - std::max(first, item.begin);
        if (share > 0) now = std::max(now, slice[size_t(s)]) + whole * share;
      }
    }
    if (i >= tiles.whole()) now += pieceBytes * (1 / stored + (item.isLast ? tiles.pieces / added : 0));
    end = std::max(end, now);
  }
  return sizes.ranks == 1 ? end : std::max(end, there.back().back()) + machine.gatheredEndUs + machine.roundTripUs;
}

// The one shard of two ranks may be more than a round of tiles: while the link has much to carry, the first need not
// wait for all. A band is about a round of large tiles; more bands would cost the link more than tiles wait less.
int bandsFor(const GemmSizes& sizes, const GemmConfig& given, const GemmPlace& place, const Machine& machine) {
  if (given.bands) return given.bands;
  int64_t shard = shardRows(sizes.m, sizes.ranks);
  if (sizes.ranks != 2 || place.target == "sim" || !given.copies.empty() ||
      double(cdiv(shard, 128) * cdiv(sizes.n, 128)) <= machine.multiprocessors)  // a round of small tiles
    return 1;
  double bytes = double(shard * sizes.k * byteSize(sizes.dtype));
  double operations = 2.0 * double(sizes.m) * double(sizes.n) * double(sizes.k);
  if (bytes / machine.copyBytes() <= kBusyLink * operations / machine.operations(byteSize(sizes.dtype))) return 1;
  return int(std::clamp<int64_t>(cdiv(cdiv(shard, 128) * cdiv(sizes.n, 256), machine.multiprocessors), 2, 4));
}

// Returns bands and slices that are the same on every rank: whole steps of the inner size, whichever tile a rank takes.
Slices slicesWithoutCopies(const GemmSizes& sizes, const GemmConfig& given, const GemmPlace& place,
                           const Machine& machine) {
  constexpr int64_t deepest = 256;  // bytes of a tile's inner size
  int64_t step = place.target == "sim" ? kSimulated.k : (given.slices ? deepest : kColumns) / byteSize(sizes.dtype);
  if (given.blockK) step = place.target == "sim" ? given.blockK : std::max<int64_t>(step, given.blockK);
  int64_t steps = cdiv(sizes.k, step),
          perSlice = cdiv(steps, std::min<int64_t>(given.slices ? given.slices : kSlices, steps));
  int64_t most = std::max(given.blockM, place.target == "sim" ? kSimulated.m : tileBounds({}, place.target).mostM);
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

// Programs may wait for the first band, for the last one after everything else, and where the link takes longest for
// all.
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

// Returns the numbers of pieces into which the tiles left over for the last round may be cut.
std::vector<int> waysToCut(const GemmConfig& config, const GemmSizes& sizes, const GemmPlace& place) {
  int64_t left = tileCount(sizes, config) % config.programs;
  if (!left || !std::has_single_bit(unsigned(config.blockN))) return {1};
  if (config.pieces) return {config.pieces};
  std::vector<int> ways = {1};
  for (int pieces : {2, 3, 4})
    if (left * pieces <= kRoundsOfPieces * config.programs) ways.push_back(pieces);
  if (place.target == "sim") std::reverse(ways.begin(), ways.end());
  return ways;
}

// The gather, before the first product.
std::vector<GemmChoice> ofFewRows(const GemmConfig& given, const GemmSizes& sizes, const GemmPlace& place,
                                  const Machine& machine) {
  double bytes = double(shardRows(sizes.m, sizes.ranks) * sizes.k * byteSize(sizes.dtype));
  double gather = kGatherUs + machine.memoryLatencyUs + machine.signalFenceUs + machine.roundTripUs / 2 +
                  bytes * (sizes.ranks - 1) / machine.storeBytes();
  return fewRowsInstead(given, sizes, place, machine, sizes.ranks > 1 ? gather : 0);
}

// The gather and then the library's product, or one between the other's parts.
std::vector<GemmChoice> ofLibrary(const GemmConfig& given, const GemmSizes& sizes, const GemmPlace& place,
                                  const Machine& machine) {
  double bytes = double(shardRows(sizes.m, sizes.ranks) * sizes.k * byteSize(sizes.dtype));
  std::vector<GemmChoice> ways = byLibrary(given, sizes, sizes.k * byteSize(sizes.dtype), place, machine,
                                           packetsUs(bytes * (sizes.ranks - 1), machine));
  std::vector<GemmChoice> inParts = byGatheredParts(given, sizes, place, machine);
  ways.insert(ways.end(), inParts.begin(), inParts.end());
  return ways;
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

}  // namespace

int64_t mostPieces(const GemmConfig& given, int64_t programs) {
  return given.pieces == 1 ? 1 : programs * std::max(kRoundsOfPieces, given.pieces);
}

const GemmModel& gatherModel() {
  static const GemmModel model{.hasUnevenTiles = true,
                               .check = checkCopies,
                               .ofFewRows = ofFewRows,
                               .ofOperators = ofLibrary,
                               .waysToSlice = waysToSlice,
                               .waysToCut = waysToCut,
                               .waysToSend = [](const GemmConfig& config, const GemmSizes&,
                                                const GemmPlace&) { return std::vector<int>{config.chunks}; },
                               .microseconds = microseconds};
  return model;
}

}  // namespace tandem::ops
