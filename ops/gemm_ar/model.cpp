// Programs read B, or multiply, whichever takes longer.
#include "ops/gemm_ar/model.h"
#include "ops/gemm_options.h"
#include "ops/gemm_rs/model.h"
#include "ops/gemm_tiles.h"
#include "ops/product/library_time.h"
#include "ops/product_time.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace tandem::ops {
namespace {

using model::Machine;

constexpr int kSimulatedPrograms = 6;
// A program's share of a cut tile has so many steps at least.
constexpr int64_t kLeastShare = 4;
// So many of the quickest ways are worth trying.
constexpr size_t kWays = 4;
constexpr Tile kSimulatedFew = {16, 32, 32, 4, 3, 1};
// Tiles are multiplied the other way round: n is the side of 64 rows of an instruction, m may be small. Inner sizes are
// those of 2-byte elements. These rates and the constants of times are fitted to 181 ways of 26 products, each way forced,
// and 190 calls of drawn shapes on two H200s: off by 1% in the median, nine of ten by less than 5%.
constexpr Tile kFew[] = {{16, 64, 128, 4, 8, .275}, {16, 128, 128, 8, 5, .265}, {32, 64, 128, 4, 8, .51},
                         {64, 64, 128, 4, 6, .68},  {64, 128, 64, 8, 8, .93},   {128, 128, 64, 8, 5, 1.06}};
// Rates of products and of the memory without copies of blocks.
struct ByPointers {
  double product, memory;
};
constexpr ByPointers kByPointers = {.06, .09}, kFp32ByPointers = {.6, .25};
// The begin of a cold product and the end of its last program, beside the launch.
constexpr double kFillAndEndUs = 4.7;
// From a round's last products to the next one's first; short tiles hide none of it.
constexpr double kRoundUs = .65;
// Of the memory's rate, while tiles are multiplied; what one program adds of others' parts, in GB/s.
constexpr double kMemoryRate = 1.04, kPartGbps = 23;
// Row blocks side by side read the same of B, but not always at the same time: so many reads are as one, to this power.
constexpr double kSharing = .86;
constexpr double kHiding = 1.8;
// Programs that are not at the same step read a tile's part of a row alone. Where that is short, the memory gives this much
// of its rate.
constexpr double kApartRate = .66;
constexpr int64_t kShortRowBytes = 128;
// Of the memory's rate where rows of B are no whole lines of the cache, so that a tile's part of a row touches one more than
// it fills. Of B [n, k] the same program's next step reads it, too.
constexpr double kAcrossLines = .7, kAcrossOwnLines = .93;
constexpr int64_t kLineBytes = 128;
// Products of this length and longer meet the power's limit and take so much more.
constexpr double kHotUs = 167, kHot = .23;

const ByPointers& byPointers(const GemmSizes& sizes) {
  return byteSize(sizes.dtype) >= 4 ? kFp32ByPointers : kByPointers;
}

// A tile, and the rows of calls that it suits.
struct Suited {
  Tile tile;
  int64_t least, most;
};

std::vector<Suited> suitedTiles(const GemmSizes& sizes, const GemmPlace& place) {
  constexpr int64_t any = std::numeric_limits<int64_t>::max();
  if (place.target == "sim") return {{kSimulatedFew, 1, any}};
  std::vector<Suited> tiles;
  if (!place.blocks) {
    constexpr int kLargest = 64;
    for (int m = 16; m <= kLargest; m += 16)
      tiles.push_back({{m, 64, 32, 4, 3, byPointers(sizes).product}, m - 15, m < kLargest ? m : any});
    return tiles;
  }
  for (Tile tile : kFew) {
    int64_t least = tile.m > 16 ? tile.m / 2 + 1 : 1;  // for fewer the half would do
    // Of several row blocks, tiles of four warps were never the quickest, and slower than the model says.
    int64_t most = tile.warps == 4 ? tile.m : any;
    tile.k = int(tile.k * 2 / byteSize(sizes.dtype));
    tiles.push_back({tile, least, most});
  }
  return tiles;
}

GemmConfig configOf(const GemmConfig& given, const Tile& tile, const GemmPlace& place) {
  GemmConfig config = filled(given, tile, place);
  if (place.target == "sim" && !given.programs) config.programs = std::min(kSimulatedPrograms, place.residentPrograms);
  config.fewRows = 1;
  config.group = 0;
  return config;
}

double productUs(const GemmConfig& c, const GemmSizes& sizes, const GemmPlace& place, double rate,
                 const Machine& machine) {
  int64_t blocks = cdiv(sizes.m, c.blockM), tiles = blocks * cdiv(sizes.n, c.blockN), steps = cdiv(sizes.k, c.blockK);
  double bytes = double(c.blockN) * c.blockK * double(byteSize(sizes.dtype));  // of B in a step
  double multiplies = 2.0 * c.blockM * c.blockN * c.blockK * place.residentPrograms /
                      (machine.operations(byteSize(sizes.dtype)) * rate);
  multiplies *= 1 + kHot * std::min(1.0, multiplies * double(tiles * steps) / place.residentPrograms / kHotUs);
  bool isShort = !c.bTransposed && c.blockN * byteSize(sizes.dtype) <= kShortRowBytes;
  bool isAcross = (c.bTransposed ? sizes.k : sizes.n) * byteSize(sizes.dtype) % kLineBytes;
  double across = !isAcross ? 1 : c.bTransposed ? kAcrossOwnLines : kAcrossLines;
  auto stepUs = [&](int64_t active, bool isTogether) {
    double readers = isTogether ? std::pow(double(std::min<int64_t>(blocks, c.programs)), kSharing) : 1;
    double byBlocks = kMemoryRate * std::min(across, isShort && !isTogether ? kApartRate : 1);
    double bandwidth = machine.memoryGbps * (place.blocks ? byBlocks : byPointers(sizes).memory);
    double memory = double(active) * bytes / readers / (bandwidth * kBytesOfGb);
    // Where both take as long, neither hides the other wholly.
    double both = std::pow(std::pow(multiplies, kHiding) + std::pow(memory, kHiding), 1 / kHiding);
    return std::max(both, bytes / (machine.programGbps * kBytesOfGb));
  };
  Cut cut = cutOf(c, tiles, steps);
  int64_t whole = cut.share ? tiles / c.programs * c.programs : tiles, last = whole % c.programs;
  int64_t rounds = whole / c.programs;
  double time = machine.launchUs + kFillAndEndUs + double(rounds * steps) * stepUs(c.programs, true);
  time += kRoundUs * double(std::max<int64_t>(0, cdiv(whole, c.programs) - 1));
  if (last) time += double(steps) * stepUs(last, true);
  if (cut.share) {
    // Shares that do not end with tiles are at other steps.
    time +=
        double(cut.share) * stepUs(cdiv((tiles - whole) * cut.tileSteps, cut.share), cut.tileSteps % cut.share == 0);
    time += machine.signalFenceUs +
            4.0 * c.blockM * c.blockN * double(cdiv(steps, cut.share) - 1) / (kPartGbps * kBytesOfGb);
  }
  return time;
}

// Sums by tiles travel under the products of the following rounds. Programs that send at the same time hold up their next
// products, the more the fewer rounds there are, and the last tiles' sums stand behind. Of 116 calls on two H200s half are
// off by less than 3%, nine of ten by less than 10%.
double withSumsUs(double product, double link, const GemmConfig& config, const GemmSizes& sizes) {
  constexpr double kLeastLost = .056, kLost = 2.8, kMostLost = .43, kSumUs = 8;
  double rounds = double(cdiv(sizes.m, config.blockM) * cdiv(sizes.n, config.blockN)) / config.programs;
  if (rounds <= 1) return product + link;
  return std::max(product, link) + std::min(product, link) * std::min(kLeastLost + kLost / rounds, kMostLost) + kSumUs;
}

// The flights of the sums beside and behind the product.
std::vector<GemmChoice> ofReduce(const GemmConfig& given, const GemmSizes& sizes, const GemmPlace& place,
                                 const Machine& machine) {
  std::vector<GemmChoice> ways = fewRows(given, sizes, place, machine);
  double bytes = double(sizes.m) * double(sizes.n) * double(byteSize(partType(sizes.dtype)));
  auto isWithin = [&](int64_t wanted, int64_t most) { return bytes <= double(wanted < 0 ? most : wanted); };
  double flight = machine.roundTripUs / 2, link = bytes * (sizes.ranks - 1) / machine.storeBytes();
  bool isOneShot = isWithin(given.oneShotBytes, mostOneShotBytes(sizes.ranks, machine));
  bool inPackets = isWithin(given.packetsBytes, mostPacketsBytes(sizes.ranks, machine));
  for (GemmChoice& way : ways) {
    way.config.fewRows = -1;  // no choice of this operator's
    if (sizes.ranks == 1) continue;
    if (inPackets) {
      way.microseconds += flight + link;
      continue;
    }
    way.microseconds = withSumsUs(way.microseconds, isOneShot ? link : 2 * link / sizes.ranks, way.config, sizes) +
                       (isOneShot ? 1 : 2) * (flight + machine.signalFenceUs);
  }
  return ways;
}

// The sums that stand behind a library's product, by all_reduce.
double reduceUs(const GemmSizes& sizes, const Machine& machine) {
  double bytes = double(sizes.m) * double(sizes.n) * double(byteSize(partType(sizes.dtype)));
  if (sizes.ranks <= 2) return packetsUs(bytes * (sizes.ranks - 1), machine);
  double two = packetsUs(2 * bytes * (sizes.ranks - 1) / sizes.ranks, machine) + machine.roundTripUs / 2;
  return std::min(two, packetsUs(bytes * (sizes.ranks - 1), machine));
}

std::vector<GemmChoice> ofScattered(const GemmConfig& given, const GemmSizes& sizes, const GemmPlace& place,
                                    const Machine& machine) {
  if (given.scattered > 0 && !place.isOwnType)
    throw Error(std::string("`scattered` is 1, but sums are gathered in the type in which they travel, ") +
                name(partType(sizes.dtype)) + ", and `out` has another");
  if (sizes.ranks == 1 || sizes.m < leastScattered(given, place.target) || !place.isOwnType) return {};
  GemmConfig inner = configOfScatter(given.bTransposed);
  GemmChoice choice{given};
  choice.config.scattered = 1;
  choice.config.fewRows = -1;
  double bytes = double(shardRows(sizes.m, sizes.ranks) * sizes.n * byteSize(partType(sizes.dtype)));
  choice.microseconds = choices(scatterModel(), inner, sizes, place, machine).front().microseconds +
                        packetsUs(bytes * (sizes.ranks - 1), machine);
  return {choice};
}

std::vector<GemmChoice> ofOperators(const GemmConfig& given, const GemmSizes& sizes, const GemmPlace& place,
                                    const Machine& machine) {
  std::vector<GemmChoice> ways = ofScattered(given, sizes, place, machine);
  if (given.scattered > 0 && !ways.empty()) return ways;
  std::vector<GemmChoice> library = byLibrary(given, sizes, sizes.n * byteSize(partType(sizes.dtype)), place, machine,
                                              reduceUs(sizes, machine), kMostReducedBytes);
  ways.insert(ways.end(), library.begin(), library.end());
  std::vector<GemmChoice> inParts = byReducedParts(given, sizes, place, machine);
  ways.insert(ways.end(), inParts.begin(), inParts.end());
  return ways;
}

}  // namespace

int64_t leastScattered(const GemmConfig& given, const std::string& target) {
  constexpr int64_t never = std::numeric_limits<int64_t>::max();
  if (given.scattered >= 0) return given.scattered ? 1 : never;
  bool otherWay = given.blockM || given.blockN || given.blockK || given.programs || given.numWarps || given.numStages ||
                  given.pieces || given.oneShotBytes >= 0 || given.packetsBytes >= 0 || given.library > 0;
  return otherWay || target == "sim" || target.ends_with("+nvshmem") ? never : kLeastScattered;
}

int64_t mostFewRows(const GemmConfig& given, int64_t maxM) {
  if (given.fewRows >= 0) return given.fewRows ? maxM : 0;
  bool otherWay =
      given.group || given.bands || given.slices || given.pieces || given.chunks >= 0 || !given.copies.empty();
  return otherWay ? 0 : std::min(kMostFewRows, maxM);
}

// In `pieces` each, where there are as many programs; else in equal shares whatever the tiles.
Cut cutOf(const GemmConfig& config, int64_t tiles, int64_t steps) {
  int64_t left = tiles % config.programs;
  if (!left || config.pieces < 2) return {0, steps};
  int64_t share = std::max(cdiv(steps, config.pieces), kLeastShare), pieces = cdiv(steps, share);
  bool isEven = left * pieces <= config.programs;
  if (!isEven) share = std::max(cdiv(left * steps, config.programs), kLeastShare);
  if (share >= steps) return {0, steps};
  return {share, isEven ? share * pieces : steps};
}

std::vector<GemmChoice> fewRows(const GemmConfig& given, const GemmSizes& sizes, const GemmPlace& place,
                                const Machine& machine) {
  auto quicker = [](const GemmChoice& a, const GemmChoice& b) { return a.microseconds < b.microseconds; };
  std::vector<GemmChoice> out;  // the quickest first, of equals the first that is tried
  for (const auto& [tile, least, most] : suitedTiles(sizes, place)) {
    if (sizes.m < least || sizes.m > most) continue;
    GemmConfig config = configOf(given, tile, place);
    for (int pieces : {1, 2, 3, 4, kMostPieces}) {
      config.pieces = given.pieces ? given.pieces : pieces;
      GemmChoice choice = {config, {}, productUs(config, sizes, place, tile.rate, machine)};
      out.insert(std::upper_bound(out.begin(), out.end(), choice, quicker), choice);
      if (given.pieces) break;
    }
  }
  out.resize(std::min(out.size(), kWays));
  return out;
}

std::vector<FewTile> tilesOfFewRows(const GemmConfig& given, const GemmSizes& sizes, const GemmPlace& place) {
  std::vector<FewTile> tiles;
  for (const auto& [tile, least, most] : suitedTiles(sizes, place))
    if (least <= sizes.m) tiles.push_back({configOf(given, tile, place), std::min(most, sizes.m)});
  return tiles;
}

std::vector<GemmChoice> fewRowsInstead(const GemmConfig& given, const GemmSizes& sizes, const GemmPlace& place,
                                       const Machine& machine, double more) {
  // Ranks may differ in copying blocks. Where the model chooses, no rank whose tensors forbid that takes few rows.
  if (sizes.m > mostFewRows(given, sizes.m) || (given.fewRows < 0 && !place.blocks)) return {};
  std::vector<GemmChoice> ways = fewRows(given, sizes, place, machine);
  for (GemmChoice& way : ways) way.microseconds += more;
  return ways;
}

// One shot sends all to R - 1 ranks; two shots twice the R-th part of that, with one flight more.
int64_t mostOneShotBytes(int ranks, const Machine& machine) {
  double saved = double(ranks - 1) * (1 - 2.0 / ranks), flight = machine.roundTripUs / 2 + machine.signalFenceUs;
  return saved <= 0 ? int64_t(1) << 62 : int64_t(flight * machine.storeBytes() / saved);
}

// Packets need neither a fence before a signal nor loads behind the wait for it, but are small.
int64_t mostPacketsBytes(int ranks, const Machine& machine) {
  return int64_t(machine.signalFenceUs * machine.storeBytes() / std::max(1, ranks - 1));
}

const GemmModel& reduceModel() {
  static const GemmModel model{.ofFewRows = ofReduce, .ofOperators = ofOperators};
  return model;
}

}  // namespace tandem::ops
