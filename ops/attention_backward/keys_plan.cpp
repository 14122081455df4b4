// The time of the gradients' kernels: products and exponentials of tiles, both ends of programs, and the longest of them.
#include "ops/attention_backward/keys_plan.h"
#include "ops/cdiv.h"
#include <algorithm>
#include <cmath>

namespace tandem::ops {
namespace {

// The time of a kernel on an H200, in microseconds of a multiprocessor: for 128 queries of 128 keys, for each element of their
// heads beside, for both ends of a program, and for both ends of its loops along a head. It was fitted to 36 drawn shapes
// (docs/performance/attention.md).
struct Pace {
  double pairs, element, ends, head;
};
constexpr Pace kAdding = {0.54, 0.0058, 3.7, 3.5}, kInOrder = {0.35, 0.0054, 1.2, 2.1},
               kOfQueries = {0.10, 0.0063, 3, 0};
constexpr double kPairs = 128 * 128;
// Another kernel takes a launch, in microseconds, and moves so many fp32 numbers to or from memory in each microsecond: the one
// that joins parts kNumbers, the one that clears and narrows sums kSumsNumbers.
constexpr double kLaunch = 1.5, kNumbers = 1.7e6, kSumsNumbers = 1e6;

// The programs of a kernel, and the rows that they go along.
struct Programs {
  double count, longest, mean;
};

// Blocks of `own` rows of each head and sequence go along `other` rows in steps.
Programs programsOf(const AttentionConfig& config, double heads, double own, double other, int64_t block,
                    int64_t step) {
  double blocks = config.varlen ? own / double(block) + 0.5 : std::ceil(own / double(block));
  double edge = double(block + step) / 2, longest = other + double(step) / 2, mean = longest;
  if (config.window) {
    longest = mean = std::min(mean, config.window * (config.causal ? 1.0 : 2.0) + edge);
  } else if (config.causal) {
    double both = std::min(own, other);
    mean = std::min(mean, (own > other ? both * both / 2 : own * other - both * both / 2) / own + edge);
  }
  return {heads * blocks, longest, mean};
}

double timeOf(const Programs& programs, double ofRow, double ends, double multiprocessors) {
  double each = programs.mean * ofRow + ends, rounds = programs.count / multiprocessors;
  if (programs.longest > programs.mean) return std::max(programs.longest * ofRow + ends, rounds * each);
  return std::ceil(rounds) * each;
}

}  // namespace

KeysPlan planKeys(const AttentionConfig& config, const GradientSizes& sizes, const KeysKernel& kernel,
                  const AttentionTile& tile, int64_t mostParts) {
  constexpr int64_t kTogether = 24 << 20;  // bytes of rows that programs that begin together read
  constexpr int64_t kMostAlong = 65535;    // of a grid's last axis
  constexpr double kManyRounds = 20;       // after which the longest programs are a small part
  const Pace& pace = kernel.adds ? kAdding : kInOrder;
  int64_t ofK = kernel.k ? sizes.d : 0, ofV = kernel.v ? sizes.dv : 0;
  double elements = double(sizes.d + ofK + ofV + (kernel.k ? sizes.dv : 0) + (kernel.adds ? sizes.d : 0));
  double ofRow = (pace.pairs + pace.element * elements) * double(tile.n) / kPairs;
  int64_t group = sizes.hq / sizes.hkv;
  Programs programs = programsOf(config, double(sizes.hq * sizes.sequences), sizes.keys, sizes.queries, tile.n, tile.m);
  double rowsOfKeys = programs.count / double(group) * double(tile.n);
  KeysPlan best;
  for (int64_t parts = 1; parts <= std::clamp<int64_t>(mostParts, 1, kMostSharing); ++parts) {
    int64_t pieces = std::max<int64_t>(parts / group, 1), members = group * pieces / parts;
    if (members * parts != group * pieces) continue;
    double rows = double(members) / double(pieces);
    Programs own = {programs.count / rows, programs.longest * rows, programs.mean * rows};
    double ends = pace.ends + pace.head * double(members);
    double time = timeOf(own, ofRow, ends, double(sizes.multiprocessors));
    if (parts > 1) time += kLaunch + 2 * rowsOfKeys * double(parts * (ofK + ofV)) / kNumbers;
    if (parts > 1 && time >= best.time) continue;
    int64_t lines = sizes.hkv * parts * (config.varlen ? 1 : sizes.sequences);
    double bytes = rows * sizes.queries * double(2 * sizes.d + 2 * sizes.dv + (kernel.adds ? 4 * sizes.d : 0));
    bool grows = own.longest > own.mean && !config.varlen && own.count < kManyRounds * double(sizes.multiprocessors);
    int64_t together = grows ? std::clamp<int64_t>(int64_t(kTogether / bytes), 1, lines) : 1;
    while (lines % together) --together;
    while (lines % together || lines / together > kMostAlong) ++together;
    best = {parts, pieces, together, time};
  }
  return best;
}

double addedTime(const GradientSizes& sizes) {
  return kLaunch + 2 * double(sizes.hq * sizes.sequences * sizes.d) * sizes.queries / kSumsNumbers;
}

double queriesTime(const AttentionConfig& config, const GradientSizes& sizes, const AttentionTile& tile) {
  Programs programs = programsOf(config, double(sizes.hq * sizes.sequences), sizes.queries, sizes.keys, tile.m, tile.n);
  double ofRow = (kOfQueries.pairs + kOfQueries.element * double(2 * sizes.d + sizes.dv)) * double(tile.m) / kPairs;
  return timeOf(programs, ofRow, kOfQueries.ends, double(sizes.multiprocessors));
}

}  // namespace tandem::ops
