// Forms for wgmma, and the time of their grids.
#include "ops/attention/forms.h"
#include "ops/cdiv.h"
#include <algorithm>
#include <cmath>

namespace tandem::ops {

namespace {

// What keeps a consumer's sums, weights and products in registers, and two blocks of keys in shared memory. Speeds and ends were
// fitted to drawn shapes on an H200 (docs/performance/attention.md). `d`: of a head's tiles, the most.
std::vector<AttentionForm> formsOf(int64_t d, bool is8) {
  if (d <= 64)
    return {{{256, 64, 16, 6}, 1, 1, 1, 190},
            {{128, 128, 8, 2}, 1, 0.93, is8 ? 0.82 : 0.93, 190},
            {{64, 64, 4, 3}, 3, 0.51, is8 ? 0.84 : 0.92, 150},
            {{64, 128, 4, 2}, 2, 0.56, is8 ? 0.88 : 0.95, is8 ? 150.0 : 220.0}};
  if (is8 && d > 128) return {{{128, 64, 8, 2}, 1, 1, 1, 190}};
  if (is8) return {{{128, 128, 8, 2}, 1, 1, 1, 190}, {{64, 128, 4, 2}, 2, 0.6, d <= 96 ? 1.2 : 0.93, 150}};
  if (d > 192) return {{{128, 64, 8, 2}, 1, 1, 1, 190}, {{64, 64, 4, 2}, 1, 0.72, 0.72, 100}};
  if (d > 128) return {{{128, 64, 8, 2}, 1, 1, 1, 190}, {{64, 64, 4, 2}, 1, 0.75, 0.51, 60}};
  AttentionForm large = {{128, 128, 8, 2}, 1, 1, 1, 190};
  if (d <= 80) return {large, {{64, 128, 4, 2}, 2, 0.64, 0.97, 150}};
  return {large, {{64, 64, 4, 2}, 2, 0.6, 0.87, 150}, {{64, 128, 4, 2}, 1, 0.64, 0.69, 190}};
}

}  // namespace

std::vector<AttentionForm> attentionForms(const std::string& target, const Heads& heads, DType dtype) {
  if (target == "sim") return {{{32, 16, 4, 2}, 1, 1, 1, 100}};
  if (!target.starts_with("sm_90")) return {{{64, 64, 4, 2}, 0, 1, 1, 0}};
  std::vector<AttentionForm> forms = formsOf(std::max(heads.ofD.both(), heads.ofV.both()), isFp8(dtype));
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
  AttentionGrid each{{int(work.blocks), int(work.heads), config.varlen ? 1 : int(work.batch)}, 0};
  if (isKept) each = {{int(all), 1, 1}, kAllLanes};  // the longest of all heads begin first
  int64_t programs = form.resident * multiprocessors;
  if (!programs) return each;
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
  each.time = (all <= programs ? longest : apart) * ofRow;
  if (config.varlen || all <= programs) return each;

  int64_t shared = grows ? 2 : 1, groups = cdiv(all, shared), turns = cdiv(groups, programs);
  double inTurn = double(turns * shared) * (mean + sharedEnds) * ofRow;
  if (isKept) {
    double together = std::max(share * (mean + sharedEnds) + ofBlock, rows) + sharedEnds;
    if (together * ofRow < std::min(each.time, inTurn)) return {{int(programs), 1, 1}, kAllLanes, together * ofRow};
  }
  if (inTurn >= each.time) return each;
  return {{int(cdiv(groups, turns)), 1, 1}, shared, inTurn};
}

int64_t multiprocessorsOf(const Team& team) {
  constexpr int64_t kSimulated = 3;
  return team.target() == "sim" ? kSimulated : team.residentPrograms();
}

}  // namespace tandem::ops
