// Tiles in the kernel's own order, and parts that cross the link one after the other.
#include "ops/gemm_rs/model.h"
#include "ops/device/channels.h"
#include "ops/gemm_ar/model.h"
#include "ops/product/library_time.h"
#include "ops/product_time.h"
#include <algorithm>

namespace tandem::ops {
namespace {

using model::Machine;

constexpr int kSimulatedChunks = 3;
// Programs that store to peers hold up their next products: a part of what the shorter of both takes is lost. With it 133
// calls on two H200s are off by 2% in the median, and nine of ten by less than 10%.
constexpr double kLost = .25;
// Of few rows: the bytes of packets that a microsecond sends, of the link's.
constexpr double kPacketRate = .84;

// Parts go through the link one after the other. A program stores a part when its last one is through the link, or the
// parts of a turn are copied together when the last of them is there. All ranks do the same, so a peer's parts arrive
// here when this rank's arrive there.
double microseconds(const GemmSizes& sizes, const GemmChoice& choice, const ProductTime& product,
                    const Machine& machine) {
  ProductTime tiles = product;
  tiles.shards = sizes.ranks;  // the kernel has tiles for ranks without rows, too
  bool copied = choice.config.chunks > 0;
  int64_t turn = turnOf(choice.config, tiles.ofShard);
  double begin = machine.gemmFillUs + machine.launchUs, end = begin, link = 0, brought = 0;
  double bytes = double(choice.config.blockM) * choice.config.blockN * (sizes.dtype == DType::Float32 ? 4 : 2);
  double add = double(tiles.shards - 1) * bytes / (machine.partAddGbps * kBytesOfGb);
  double flight = machine.roundTripUs / 2 + machine.tileFenceUs;
  double stored = bytes / (machine.storeBytes() * machine.storeBesideGemmRatio);
  std::vector<double> free(size_t(tiles.programs), begin), held(size_t(tiles.programs), 0.0);
  std::vector<double> there(size_t(tiles.ofShard), 0.0);
  for (int64_t tile = 0; tile < tiles.count(); ++tile) {
    size_t program = size_t(tile % tiles.programs);
    auto [nth, local] = channels::scattered_tile(tile, tiles.shards, tiles.ofShard, turn);
    double multiplied = tiles.microseconds(tile), now = free[program];
    now += multiplied / (copied ? machine.gemmBesideCopiesRatio : 1);
    int64_t first = local / turn * turn, count = std::min(turn, tiles.ofShard - first);
    if (nth + 1 == tiles.shards) {
      now = std::max(now, there[size_t(copied ? first : local)]) + add;
    } else if (!copied) {
      now = std::max(now, held[program]) + kLost * std::min(multiplied, stored * double(tiles.active(tile)));
      link = held[program] = std::max(link, now) + stored;
      there[size_t(local)] = std::max(there[size_t(local)], link + flight);
    } else {
      brought = local == first ? now : std::max(brought, now);
      if (local + 1 == first + count) {
        link = std::max(link, brought + machine.tileFenceUs) + machine.copyUs + machine.copyTurnUs +
               double(count) * bytes / machine.copyBytes();
        there[size_t(first)] = link + machine.roundTripUs / 2;
      }
    }
    free[program] = now;
    end = std::max(end, now);
  }
  return end + machine.summedEndUs;
}

// In how many copies parts travel, 0: programs store them.
std::vector<int> waysToSend(const GemmConfig& config, const GemmSizes& sizes, const GemmPlace& place) {
  if (config.chunks >= 0) return {config.chunks};
  if (sizes.ranks == 1) return {0};
  if (place.target == "sim") return {kSimulatedChunks, 0};
  return {4, 2, 8, 0};
}

// Parts for all peers go through one link.
std::vector<GemmChoice> ofFewRows(const GemmConfig& given, const GemmSizes& sizes, const GemmPlace& place,
                                  const Machine& machine) {
  double bytes = double(sizes.m) * double(sizes.n) * double(byteSize(partType(sizes.dtype)));
  double sums =
      machine.roundTripUs / 2 + bytes * (sizes.ranks - 1) / sizes.ranks / (machine.storeBytes() * kPacketRate);
  return fewRowsInstead(given, sizes, place, machine, sizes.ranks > 1 ? sums : 0);
}

// The library's product and then the sums, or one between the other's parts.
std::vector<GemmChoice> ofLibrary(const GemmConfig& given, const GemmSizes& sizes, const GemmPlace& place,
                                  const Machine& machine) {
  double bytes = double(shardRows(sizes.m, sizes.ranks) * sizes.n * byteSize(partType(sizes.dtype)));
  std::vector<GemmChoice> ways = byLibrary(given, sizes, sizes.n * byteSize(partType(sizes.dtype)), place, machine,
                                           packetsUs(bytes * (sizes.ranks - 1), machine));
  std::vector<GemmChoice> inParts = byScatteredParts(given, sizes, place, machine);
  ways.insert(ways.end(), inParts.begin(), inParts.end());
  return ways;
}

}  // namespace

const GemmModel& scatterModel() {
  static const GemmModel model{
      .ofFewRows = ofFewRows,
      .ofOperators = ofLibrary,
      .waysToSlice = [](const GemmSizes&, const GemmConfig&, const GemmPlace&,
                        const Machine&) { return std::vector<Slices>(1); },
      .waysToCut = [](const GemmConfig&, const GemmSizes&, const GemmPlace&) { return std::vector<int>{0}; },
      .waysToSend = waysToSend,
      .microseconds = microseconds};
  return model;
}

}  // namespace tandem::ops
