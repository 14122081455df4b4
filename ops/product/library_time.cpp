// The library's choices are not known. It takes the best of some tiles and of some divisions of K, each as quick as tiles
// of that size can be. The constants are fitted to a half of 1175 products of drawn shapes, timed on H200s; the other half
// are off by 3% in the median, and nine of ten by less than 8%.
#include "ops/product/library_time.h"
#include "ops/product_time.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace tandem::ops {
namespace {

using model::Machine;

// Tiles have one side of kSides and one that is a multiple of kStep, not below the first of kSides but in fp32, and an area
// of at most kMostTile.
constexpr int64_t kSides[] = {64, 128, 192, 256}, kStep = 16, kLeastFp32 = 16;
constexpr int64_t kMostTile = 128 * 256;
constexpr int64_t kParts[] = {1, 2, 3, 4, 6, 8};  // of K
constexpr int64_t kLeastPart = 256;
// Beside the launch: begin and end.
constexpr double kEndsUs = 3.38;
// Of the machine's rates. Tiles are quicker the fewer bytes they read for an operation, to this power.
constexpr double kMemoryRate = 1.08, kProductRate = 1.063, kFp8ProductRate = 1.103, kIntensity = .02;
// Its fp32 is one multiply-add after the other.
constexpr double kFp32MemoryRate = .6, kFp32ProductRate = 1.27;
// Of 2-byte elements in rows that are no whole numbers of 16 bytes, by what these are multiples of; measured on one H200.
struct Rates {
  double product, memory;
};
constexpr std::pair<int64_t, Rates> kRowsRates[] = {{16, {1, 1}}, {8, {.33, .4}}, {4, {.23, .3}}, {2, {.18, .25}}};
// Where memory and products take as long, neither hides the other wholly.
constexpr double kHiding = 3.14;
// A tile's begin and end, which the next one's products do not hide.
constexpr double kRoundUs = 1.07;
// Memory's rate comes with time: so much is lost in all, half of it by the first bytes. It and the rate are fitted to 1257
// products, of which 17 read 240 to 870 MB for few rows.
constexpr double kRampUs = 16, kRampBytes = 80e6;
// Parts of sums are written and read again.
constexpr double kPartsUs = .24, kPartsRate = .012;
// A collective's: half of what slower begins cost is lost by the first bytes. Fitted to 120 calls behind or ahead of products.
constexpr double kCollectiveUs = 3.1, kCollectiveRate = .953, kCollectiveRampUs = 4.2, kCollectiveRampBytes = 5.2e6;

// A call in parts takes this beside its products and the bytes of its copies: for each product behind another one, for each
// copy with the signals and events around it, from the end of a copy to the product that waits for it, and before the
// first copy. Products lose a part of the time in which memory reads and writes the bytes that are copied beside them.
// With these constants 200 calls on two H100s are off by 4% in the median, and nine of ten by less than 10%.
constexpr double kNextUs = 5, kPartUs = 12, kArrivalUs = 6, kBeginUs = 3, kCopiesBeside = .5;
// Of fp8 the library takes columns and inner sizes that are multiples of this.
constexpr int64_t kFp8Multiple = 16;
constexpr int kShardParts[] = {1, 2, 4, kMostLibraryParts};

// Rows of `b` are as long as those of `a` or of the result.
Rates ratesOf(const GemmSizes& s) {
  if (byteSize(s.dtype) == 1) return {kFp8ProductRate, kMemoryRate};
  if (byteSize(s.dtype) == 4) return {kFp32ProductRate, kFp32MemoryRate};
  auto fits = [&](const auto& rows) { return s.k * 2 % rows.first == 0 && s.n * 2 % rows.first == 0; };
  const Rates& rates = std::ranges::find_if(kRowsRates, fits)->second;
  return {kProductRate * rates.product, kMemoryRate * rates.memory};
}

double ramp(double bytes, double most, double half) { return most * bytes / (bytes + half); }

bool multiplies(const GemmConfig& given, const GemmSizes& sizes) {
  if (sizes.dtype != DType::Float8E4NV) return byteSize(sizes.dtype) >= 2;
  return given.bTransposed && sizes.n % kFp8Multiple == 0 && sizes.k % kFp8Multiple == 0;
}

bool mayTake(const GemmConfig& given, const GemmSizes& sizes, bool isThere) {
  if (given.library == 0 || !multiplies(given, sizes)) return false;
  bool otherWay = given.blockM || given.blockN || given.blockK || given.programs || given.numWarps || given.numStages ||
                  given.group || given.bands || given.slices || given.pieces || given.chunks >= 0 ||
                  given.fewRows > 0 || given.oneShotBytes >= 0 || given.packetsBytes >= 0 || !given.copies.empty();
  return given.library == 1 || (isThere && !otherWay);
}

// The course of a call in parts, on its two streams. The stream of copies sends a part and then waits for one that comes; its
// first copy waits until the other ranks have begun.
struct InParts {
  const GemmSizes& sizes;
  const Machine& machine;
  int parts;
  int64_t shard = shardRows(sizes.m, sizes.ranks);
  double link = machine.launchUs + machine.signalWriteUs + machine.roundTripUs / 2 + kBeginUs;  // when it is free

  // The rows of the largest shard's part, which is the first rank's.
  int64_t rows(int nth) const {
    int64_t most = libraryPartRows(shard, parts);
    return std::clamp<int64_t>(shard - nth * most, 0, most);
  }
  double product(int64_t rows) const {
    if (!rows) return 0;
    return libraryProductUs({rows, sizes.n, sizes.k, 1, sizes.dtype}, machine) - machine.launchUs - kEndsUs + kNextUs;
  }
  double inputBytes(int64_t rows) const { return double(rows * sizes.k * byteSize(sizes.dtype)); }
  double sumBytes(int64_t rows) const { return double(rows * sizes.n * byteSize(partType(sizes.dtype))); }
  // Puts the copy of a part that is there at `now` on the stream of copies.
  void send(double now, double bytes) {
    link = std::max(link, now) + machine.copyUs + kPartUs + bytes / machine.copyBytes();
  }
  // Returns the time that a product loses by bytes that are read or written beside it.
  double beside(double bytes) const { return bytes * kCopiesBeside / (machine.memoryGbps * kBytesOfGb); }
  double gathered() {
    double now = machine.launchUs + product(shard);
    for (int nth = 0; nth < parts; ++nth)
      for (int peer = 1; peer < sizes.ranks; ++peer) {
        send(0, inputBytes(rows(nth)));
        now = std::max(now, link + kArrivalUs) + product(rows(nth)) + beside(2 * inputBytes(rows(nth)));
      }
    return now + kEndsUs;
  }
  double scattered() { return sums(false); }
  double reduced() { return sums(true); }
  double sums(bool isGathered) {
    double now = machine.launchUs;
    std::vector<double> summed;
    for (int nth = 0; nth < parts; ++nth) {
      for (int peer = 1; peer < sizes.ranks; ++peer) {
        now += product(rows(nth)) + beside(2 * sumBytes(rows(nth)));
        send(now, sumBytes(rows(nth)));
      }
      // Several others' parts are read and their sum is written, where a copy reads and writes one.
      if (sizes.ranks > 2) link += sumBytes(rows(nth)) * sizes.ranks / 2 / (machine.localCopyGbps * kBytesOfGb);
      summed.push_back(link + kArrivalUs);
    }
    for (int nth = 0; nth < parts; ++nth) {
      now = std::max(now, summed[size_t(nth)]) + product(rows(nth)) + beside(2 * sumBytes(rows(nth)));
      if (isGathered)
        for (int peer = 1; peer < sizes.ranks; ++peer) send(now, sumBytes(rows(nth)));
    }
    // The last results lie where the peers brought them, and are copied once more.
    double last = sumBytes(rows(parts - 1)) / (machine.localCopyGbps * kBytesOfGb) + machine.copyUs;
    return (isGathered ? std::max(now, link + kArrivalUs + last) : now) + kEndsUs;
  }
};

std::vector<GemmChoice> inParts(const GemmConfig& given, const GemmSizes& sizes, const GemmPlace& place,
                                const Machine& machine, double (InParts::*time)()) {
  bool isThere = place.products && place.isOwnType;
  if (sizes.ranks == 1 || !mayBeInParts(given, sizes, isThere)) return {};
  std::vector<GemmChoice> out;
  for (int parts : kShardParts) {
    GemmChoice& choice = out.emplace_back(given);
    choice.config.library = 1;
    choice.config.chunks = given.chunks > 0 ? given.chunks : parts;
    InParts way{sizes, machine, choice.config.chunks};
    choice.microseconds = (way.*time)();
    if (given.chunks > 0) break;
  }
  return out;
}

}  // namespace

int64_t mostLibraryRows(const GemmConfig& given, const GemmSizes& sizes, int64_t rowBytes, bool isThere,
                        int64_t mostBytes) {
  if (!mayTake(given, sizes, isThere) || given.chunks > 0) return 0;
  if (given.library == 1 || sizes.ranks == 1) return std::numeric_limits<int64_t>::max();
  return mostBytes / rowBytes;
}

bool mayBeInParts(const GemmConfig& given, const GemmSizes& sizes, bool isThere) {
  return mayTake(given, sizes, isThere) && given.chunks != 0;
}

int64_t libraryPartRows(int64_t shard, int parts) {
  constexpr int64_t tile = 128;
  return std::min(shard, cdiv(cdiv(shard, parts), tile) * tile);
}

void checkLibrary(const GemmConfig& given, const GemmSizes& sizes) {
  if (given.library > 0 && !multiplies(given, sizes))
    throw Error(
        "`library` is 1, but it multiplies fp16, bf16, fp32 and, where `b` is transposed and n and k are multiples of " +
        std::to_string(kFp8Multiple) + ", fp8e4nv; not " + name(sizes.dtype) + " with n " + std::to_string(sizes.n) +
        " and k " + std::to_string(sizes.k));
  if (given.library > 0 && given.chunks > kMostLibraryParts)
    throw Error("`library` is 1 and `chunks` is " + std::to_string(given.chunks) + ", at most " +
                std::to_string(kMostLibraryParts) + " are possible");
}

void checkLibraryChunks(const std::string& op, const GemmConfig& given) {
  if (given.chunks >= 0 && given.library < 1)
    throw Error("`" + op + "`: `chunks` is " + std::to_string(given.chunks) +
                ", but `library` is not 1: shards travel in `chunks` parts between the library's products alone");
}

double libraryProductUs(const GemmSizes& s, const Machine& machine) {
  double m = double(s.m), n = double(s.n), k = double(s.k);
  double bytes = (k * n + m * k) * double(byteSize(s.dtype)) + m * n * double(byteSize(partType(s.dtype)));
  double memoryRate = machine.memoryGbps * kBytesOfGb;
  Rates rates = ratesOf(s);
  double memory = bytes / (memoryRate * rates.memory) + ramp(bytes, kRampUs, kRampBytes);
  double rate = machine.operations(byteSize(s.dtype)) / machine.multiprocessors * rates.product;
  double best = std::numeric_limits<double>::max();
  auto consider = [&](int64_t rows, int64_t columns) {
    if (rows * columns > kMostTile) return;
    double intensity = 3.0 * double(rows * columns) / double((rows + columns) * 256);  // 1 for the largest
    double tileRate = rate * std::min(1.0, std::pow(intensity, kIntensity));
    int64_t tiles = cdiv(s.m, rows) * cdiv(s.n, columns);
    for (int64_t parts : kParts) {
      if (parts > 1 && s.k < parts * kLeastPart) break;
      double rounds = std::ceil(double(tiles * parts) / machine.multiprocessors);
      double product = rounds * (2 * double(rows * columns) * k / double(parts) / tileRate + kRoundUs);
      double time = std::pow(std::pow(product, kHiding) + std::pow(memory, kHiding), 1 / kHiding);
      if (parts > 1) time += kPartsUs + 8 * double(parts) * m * n / (memoryRate * kPartsRate);
      best = std::min(best, time);
    }
  };
  int64_t least = byteSize(s.dtype) == 4 ? kLeastFp32 : kSides[0];
  for (int64_t side : kSides)
    for (int64_t other = least; other <= 256; other += kStep) {
      consider(side, other);
      consider(other, side);
    }
  return machine.launchUs + kEndsUs + best;
}

double packetsUs(double bytes, const Machine& machine) {
  return kCollectiveUs + machine.roundTripUs / 2 + bytes / (machine.storeBytes() * kCollectiveRate) +
         ramp(bytes, kCollectiveRampUs, kCollectiveRampBytes);
}

std::vector<GemmChoice> byLibrary(const GemmConfig& given, const GemmSizes& sizes, int64_t rowBytes,
                                  const GemmPlace& place, const Machine& machine, double aroundUs, int64_t mostBytes) {
  bool isThere = place.products && place.isOwnType;
  if (sizes.m > mostLibraryRows(given, sizes, rowBytes, isThere, mostBytes)) return {};
  GemmChoice choice{given};
  choice.config.library = 1;
  choice.config.chunks = 0;
  choice.microseconds = libraryProductUs(sizes, machine) + (sizes.ranks > 1 ? aroundUs : 0);
  return {choice};
}

std::vector<GemmChoice> byGatheredParts(const GemmConfig& given, const GemmSizes& sizes, const GemmPlace& place,
                                        const Machine& machine) {
  return inParts(given, sizes, place, machine, &InParts::gathered);
}

std::vector<GemmChoice> byScatteredParts(const GemmConfig& given, const GemmSizes& sizes, const GemmPlace& place,
                                         const Machine& machine) {
  return inParts(given, sizes, place, machine, &InParts::scattered);
}

std::vector<GemmChoice> byReducedParts(const GemmConfig& given, const GemmSizes& sizes, const GemmPlace& place,
                                       const Machine& machine) {
  return inParts(given, sizes, place, machine, &InParts::reduced);
}

}  // namespace tandem::ops
