// Forms for wgmma, and the time of their grids.
#include "ops/attention/forms.h"
#include "ops/cdiv.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace tandem::ops {

namespace {

// What keeps a consumer's sums, weights and products in registers, and two blocks of keys in shared memory. Speeds and ends were
// fitted to drawn shapes on an H200 (docs/performance/attention.md). `qk`, `dv`: elements of the tiles of keys and values.
std::vector<AttentionForm> formsOf(int64_t qk, int64_t dv, bool is8) {
  const int64_t d = std::max(qk, dv);
  if (d <= 64)
    return {{{256, 64, 16, 6}, 1, 1, 1, 190},
            {{128, 128, 8, 2}, 1, 0.93, is8 ? 0.82 : 0.93, 190},
            {{64, 64, 4, 3}, 3, 0.51, is8 ? 0.84 : 0.92, 150},
            {{64, 128, 4, 2}, 2, 0.56, is8 ? 0.88 : 0.95, is8 ? 150.0 : 220.0}};
  if (is8 && d > 128) return {{{128, 64, 8, 2}, 1, 1, 1, 190}};
  if (is8) return {{{128, 128, 8, 2}, 1, 1, 1, 300}, {{64, 128, 4, 2}, 2, 0.6, d <= 96 ? 1.2 : 1.1, 150}};
  if (d > 192) return {{{128, 64, 8, 2}, 1, 1, 1, 190}, {{64, 64, 4, 2}, 1, 0.72, 0.72, 100}};
  if (d > 128) {
    // Queries and two slots of keys and values, 128 rows each, for which shared memory has room, and registers for the sums.
    constexpr int64_t kMostElements = (208 << 10) / (128 * 2), kMostValues = 160;
    if (3 * qk + 2 * dv > kMostElements || dv > kMostValues)
      return {{{128, 64, 8, 2}, 1, 1, 1, 190}, {{64, 64, 4, 2}, 1, 0.75, 0.51, 60}};
    return {
        {{128, 128, 8, 2}, 1, 1, 1, 320}, {{128, 64, 8, 2}, 1, 0.84, 0.84, 190}, {{64, 64, 4, 2}, 1, 0.63, 0.43, 60}};
  }
  AttentionForm large = {{128, 128, 8, 2}, 1, 1, 1, 190};
  if (d <= 80) return {large, {{64, 128, 4, 2}, 2, 0.64, 0.97, 150}};
  return {large, {{64, 64, 4, 2}, 2, 0.6, 0.87, 150}, {{64, 128, 4, 2}, 1, 0.64, 0.69, 190}};
}

}  // namespace

std::vector<AttentionForm> attentionForms(const std::string& target, const Heads& heads, DType dtype) {
  if (target == "sim") return {{{32, 16, 4, 2}, 1, 1, 1, 100, 1000}};
  if (!target.starts_with("sm_90")) return {{{64, 64, 4, 2}, 0, 1, 1, 0}};
  const int64_t qk = heads.ofD.both(), dv = heads.ofV.both();
  std::vector<AttentionForm> forms = formsOf(qk, dv, isFp8(dtype));
  constexpr double kJoin = 0.7e7;        // elements of keys, each multiplied by one query
  constexpr int64_t kMostWithParts = 2;  // programs on a multiprocessor whose registers have room for what parts need
  for (AttentionForm& form : forms)
    if (form.resident <= kMostWithParts) form.join = kJoin / double(std::max(qk, dv));
  // Rows that begin in the middle of a sector take TMA longer, so tiles of few queries wait for keys.
  constexpr int64_t kSector = 32;  // bytes
  constexpr int kManyQueries = 128;
  constexpr double kAlone = 0.75, kSpeed = 0.63;
  if (heads.d * byteSize(dtype) % kSector == 0 && heads.dv * byteSize(dtype) % kSector == 0) return forms;
  for (AttentionForm& form : forms) {
    if (form.tile.m >= kManyQueries) continue;
    form.alone *= kAlone;
    form.speed *= kSpeed;
  }
  return forms;
}

namespace {

// The grid in which programs have equal runs of all keys, and put parts of a block together that several of them have.
AttentionGrid runsOf(const AttentionForm& form, int64_t programs, const AttentionWork& work, bool grows, double ends) {
  constexpr int64_t kCost = 128;       // places of a block beside its keys, as in ops/device/runs.py
  constexpr int64_t kLeastBlocks = 4;  // of keys, in a run
  constexpr double kMostPlaces = 1 << 30;
  double rows = double(work.along);
  double mean = grows ? rows - double(work.blocks - 1) * double(form.tile.m) / 2 : rows;
  double places = double(work.blocks * work.heads * work.batch) * (mean + kCost);
  int64_t runs = std::clamp<int64_t>(int64_t(places) / (kLeastBlocks * form.tile.n), 1, programs);
  AttentionGrid grid{{int(runs), 1, 1}, kRuns, std::numeric_limits<double>::infinity()};
  if (places > kMostPlaces) return grid;
  double run = places / double(runs), blocks = run / (mean + kCost), parts = std::max((rows + kCost) / run, 1.0);
  double ofRow = double(form.tile.m * form.resident) / form.speed;
  // Multiprocessors that have nothing to do leave their power to others, so to share their work gains a little less.
  constexpr double kPower = 1.02;
  grid.time = kPower * (run + blocks * (ends - kCost) + ends) * ofRow + form.join * (1 + parts) / 2;
  return grid;
}

}  // namespace

// A program that stays has the next block's first keys when one block ends, but its blocks are dealt out before; else programs
// that end make room for the next ones, the longest first.
AttentionGrid attentionGrid(const AttentionConfig& config, const AttentionForm& form, int64_t multiprocessors,
                            const AttentionWork& work) {
  constexpr int64_t kKeptBytes = 32 << 20;  // of L2, from which blocks of all heads read their keys again
  // Both ends of a block without a mask, and of one that has a program of its own.
  constexpr double kWithoutMask = 0.65, kOwnProgram = 2;
  bool grows = config.causal && !config.window;
  const double sharedEnds = form.ends * (grows ? 1 : kWithoutMask), ends = form.ends * kOwnProgram;
  int64_t all = work.blocks * work.heads * (config.varlen ? 1 : work.batch);
  bool isKept = grows && !config.varlen && work.keyBytes <= kKeptBytes;
  AttentionGrid best{{int(work.blocks), int(work.heads), config.varlen ? 1 : int(work.batch)}, 0};
  if (isKept) best = {{int(all), 1, 1}, kAllLanes};  // the longest of all heads begin first
  int64_t programs = form.resident * multiprocessors;
  if (!programs) return best;
  int64_t beside = std::min(cdiv(all, multiprocessors), form.resident);
  double ofRow = double(form.tile.m) * double(beside) / (all <= multiprocessors ? form.alone : form.speed);
  double rows = double(work.along);
  if (config.window)
    rows = std::min(rows, config.window * (config.causal ? 1.0 : 2.0) + form.tile.m + double(form.tile.n) / 2);
  // The mean of a block's rows, where work grows along a sequence.
  double ofBlock = config.varlen ? double(form.tile.m) : rows / double(work.blocks);
  double mean = grows ? (rows + ofBlock) / 2 : rows, longest = rows + ends;
  double share = double(all) / double(programs);
  double apart = grows || config.varlen ? std::max(share * (mean + ends), longest) : std::ceil(share) * longest;
  best.time = (all <= programs ? longest : apart) * ofRow;
  if (config.varlen) return best;

  auto take = [&](const AttentionGrid& other) {
    if (other.time < best.time) best = other;
  };
  bool isBehind = config.causal && work.queries > work.along;  // some queries see no key
  if (work.isDivisible && form.join > 0 && !config.window && !isBehind && (isKept || !grows))
    take(runsOf(form, programs, work, grows, sharedEnds));
  if (all <= programs) return best;
  int64_t shared = grows ? 2 : 1, groups = cdiv(all, shared), turns = cdiv(groups, programs);
  double inTurn = double(turns * shared) * (mean + sharedEnds) * ofRow;
  take({{int(cdiv(groups, turns)), 1, 1}, shared, inTurn});
  if (isKept) {
    double together = std::max(share * (mean + sharedEnds) + ofBlock, rows) + sharedEnds;
    take({{int(programs), 1, 1}, kAllLanes, together * ofRow});
  }
  return best;
}

int64_t multiprocessorsOf(const Team& team) {
  constexpr int64_t kSimulated = 3;
  return team.target() == "sim" ? kSimulated : team.residentPrograms();
}

}  // namespace tandem::ops
