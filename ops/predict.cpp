// One persistent kernel: program p takes tiles p, p + P, ... A tile begins when its program is free and goes on as the data comes. The
// order of the tiles is the kernels' own.
#include "ops/predict.h"
#include "ops/device/tiles.h"
#include <algorithm>

namespace tandem::ops {
namespace {

using model::Machine;

constexpr double kBytesOfGb = 1e3;  // a microsecond's of 1 GB/s

struct Tiles {
  int64_t shards, ofShard;
  int programs;
  double operations;    // of a tile
  double total, alone;  // operations a microsecond: of all programs together, of one at most
  double between;       // microseconds from a tile's last product to the next one's first
  int pieces;           // of a tile left over
  int64_t count() const { return shards * ofShard; }
  int64_t left() const { return pieces > 1 ? count() % programs : 0; }
  int64_t whole() const { return count() - left(); }
  int64_t items() const { return whole() + left() * pieces; }

  // In the last round few programs are left, and each is faster.
  double microseconds(int64_t item) const {
    int64_t active = std::min<int64_t>(programs, items() - item / programs * programs);
    return operations / std::min(alone, total / double(active)) + between;
  }
};

// The work that a program does in one go: a tile, or a piece of one along K.
struct Item {
  int64_t tile;
  double begin, end;
  bool isLast;  // adds up the tile's pieces
};

Item itemOf(int64_t item, const Tiles& tiles) {
  auto [tile, piece] = kernels::piece_of(item, tiles.whole(), tiles.left());
  if (item < tiles.whole()) return {tile, 0, 1, false};
  double share = 1.0 / tiles.pieces;
  return {tile, double(piece) * share, double(piece + 1) * share, piece + 1 == tiles.pieces};
}

Tiles tilesOf(const GemmSizes& sizes, const GemmConfig& c, double rate, int resident, const Machine& machine) {
  int64_t shard = shardRows(sizes.m, sizes.ranks);
  double depth = double(cdiv(sizes.k, c.blockK) * c.blockK), total = machine.operations(byteSize(sizes.dtype)) * rate;
  return {cdiv(sizes.m, shard),
          cdiv(shard, c.blockM) * cdiv(sizes.n, c.blockN),
          c.programs,
          2.0 * c.blockM * c.blockN * depth,
          total,
          total / resident * machine.gemmAloneRatio,
          machine.gemmTileUs,
          c.pieces};
}

// Returns the rate relative to that of whole rows, where `bytes` of each row are copied.
double columnsRate(double bytes) { return std::clamp(.5 + bytes / 10e3, .6, .97); }

// Returns when each slice of each band is there, in the order in which the tiles take them; the own shard is one band.
std::vector<std::vector<double>> arrivals(const GemmSizes& sizes, const Slices& slices, int64_t shards, double begin,
                                          const Machine& machine) {
  std::vector<std::vector<double>> all(1, std::vector<double>(size_t(slices.count), 0.0));
  int64_t shard = shardRows(sizes.m, sizes.ranks);
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

double allGather(const GemmSizes& sizes, const GemmChoice& choice, const Tiles& tiles, const Machine& machine) {
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

// Parts go through the link one after the other. A program stores a part when its last one is through the link, or the
// parts of a turn are copied together when the last of them is there. All ranks do the same, so a peer's parts arrive
// here when this rank's arrive there.
double reduceScatter(const GemmSizes& sizes, const GemmChoice& choice, const Tiles& tiles, const Machine& machine) {
  bool copied = choice.config.chunks > 0;
  int64_t turn = turnOf(choice.config, tiles.ofShard);
  double begin = machine.gemmFillUs + machine.launchUs, end = begin, link = 0, brought = 0;
  double bytes = double(choice.config.blockM) * choice.config.blockN * (sizes.dtype == DType::Float32 ? 4 : 2);
  double add = double(tiles.shards - 1) * bytes / (machine.partAddGbps * kBytesOfGb);
  double flight = machine.roundTripUs / 2 + machine.tileFenceUs;
  std::vector<double> free(size_t(tiles.programs), begin), held(size_t(tiles.programs), 0.0);
  std::vector<double> there(size_t(tiles.ofShard), 0.0);
  for (int64_t tile = 0; tile < tiles.count(); ++tile) {
    size_t program = size_t(tile % tiles.programs);
    auto [nth, local] = kernels::scattered_tile(tile, tiles.shards, tiles.ofShard, turn);
    double now = free[program] + tiles.microseconds(tile) / (copied ? machine.gemmBesideCopiesRatio : 1);
    int64_t first = local / turn * turn, count = std::min(turn, tiles.ofShard - first);
    if (nth + 1 == tiles.shards) {
      now = std::max(now, there[size_t(copied ? first : local)]) + add;
    } else if (!copied) {
      now = std::max(now, held[program]);
      link = held[program] = std::max(link, now) + bytes / (machine.storeBytes() * machine.storeBesideGemmRatio);
      there[size_t(local)] = std::max(there[size_t(local)], link + flight);
    } else {
      brought = local == first ? now : std::max(brought, now);
      if (local + 1 == first + count) {
        link = std::max(link, brought + machine.tileFenceUs) + machine.copyUs + double(count) * bytes / machine.copyBytes();
        there[size_t(first)] = link + machine.roundTripUs / 2;
      }
    }
    free[program] = now;
    end = std::max(end, now);
  }
  return end + machine.summedEndUs;
}

}  // namespace

double predicted(GemmOp op, const GemmSizes& sizes, const GemmChoice& choice, double rate, int resident,
                 const Machine& machine) {
  Tiles tiles = tilesOf(sizes, choice.config, rate, resident, machine);
  return op == GemmOp::AllGather ? allGather(sizes, choice, tiles, machine)
                                 : reduceScatter(sizes, choice, tiles, machine);
}

}  // namespace tandem::ops
