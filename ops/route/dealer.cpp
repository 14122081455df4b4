// Divides tokens among programs, and sizes their tiles.
#include "ops/route/dealer.h"
#include "ops/cdiv.h"
#include "ops/kernel_text.h"
#include <algorithm>
#include <bit>

namespace tandem::ops {
namespace {

// Slots of a program, and up to how many one program of one rank takes alone; of several ranks, whose tokens it counts one after
// the other and whose blocks it writes twice, fewer. Scores take longer than slots: then tokens count.
constexpr int64_t kSlotsEach = 1024, kAlone = 2048, kTokensEach = 8, kTokensAlone = 16;
constexpr int64_t kSimulatedSlotsEach = 64, kSimulatedAlone = 64;
// Ranges of a clan, which sum their counts, where there are more of them than a few.
constexpr int64_t kClan = 16, kFewRanges = 24, kSimulatedClan = 2, kSimulatedFewRanges = 3;
constexpr int64_t kClanHeader = 8;
// Programs that gather, and deal, ranges of tokens while others move their rows; up to so many slots one does, with so
// many warps at most.
constexpr int64_t kMostInside = 16, kAloneInside = 1024;
constexpr int kMostWarps = 32;
constexpr int64_t kManyTokens = 32;  // of a program, which has more warps for their scores
constexpr int kWarps = 8, kWarpsAlone = 16, kSimulatedWarps = 2;
// Lanes for the blocks of an expert, and how many programs have some experts each to write the blocks of.
constexpr int64_t kLanesOfBlocks = 8, kMostWriters = 8;
constexpr int64_t kMostSharedWords = 56 << 10;
constexpr int kGroup = 8;        // blocks that share the columns that they read
constexpr int64_t kTile = 8192;  // elements of a tile of counts

int64_t padded(int64_t n) { return int64_t(std::bit_ceil(uint64_t(n))); }

int64_t paddedExperts(int64_t experts) { return std::max<int64_t>(padded(experts), 8); }

}  // namespace

int blockRows(int64_t slots, int64_t experts, const DealConfig& given, const std::string& target) {
  if (given.blockM) return given.blockM;
  if (target == "sim") return 16;
  int64_t each = slots / experts;
  return each > 48 ? 128 : each > 12 ? 64 : 16;
}

void checkExperts(const Table& table, int64_t experts, int64_t topK, int ranks) {
  auto check = [&](const char* name, int64_t value, int64_t most) {
    if (value > most)
      throw Error("`" + table.name + "`: `" + name + "` is " + std::to_string(value) + ", 1 to " +
                  std::to_string(most) + " are possible");
  };
  check("experts", experts, kMostExperts * ranks);
  check("top_k", topK, std::min(experts, kMostTopK));
}

Dealer::Dealer(Team& team, Memory& memory, int64_t maxM, int64_t experts, int64_t topK, int64_t scored,
               const DealConfig& config, const Tensor& findings)
    : team_(team), experts_(experts), topK_(topK), scored_(scored), config_(config), findings_(findings) {
  int64_t ranges = std::max<int64_t>(team.size(), team.residentPrograms());
  ids_ = memory.localZeros({scored ? maxM * topK : 1}, DType::Int32, "ids");
  counts_ = memory.localZeros({ranges * experts}, DType::Int32, "counts");
  clans_ = memory.localZeros({kClanHeader + 2 * mostClans() * experts}, DType::Int32, "clans");
}

Dealer::Ranges Dealer::rangesFor(int64_t m) const {
  bool simulated = team_.target() == "sim";
  int64_t ranks = team_.size(), shard = shardRows(m, team_.size());
  int64_t all = std::min<int64_t>(team_.residentPrograms(), config_.programs ? config_.programs : 1 << 16);
  int64_t most = all - std::clamp<int64_t>(all / 32, 1, kMostWriters);
  Ranges out{1, shard, false, simulated ? kSimulatedWarps : kWarpsAlone, 0};
  bool fillsMany = m * topK_ > (simulated ? kSimulatedAlone : kAlone / (ranks * ranks)) ||
                   (scored_ && !simulated && m > kTokensAlone / ranks);
  if (fillsMany && most >= ranks) {
    int64_t parts = simulated ? cdiv(shard * topK_, kSimulatedSlotsEach)
                    : scored_ ? cdiv(shard, kTokensEach)
                              : cdiv(shard * topK_, kSlotsEach);
    out.isMany = true;
    out.parts = std::clamp(parts, int64_t(1), most / ranks);
    out.tokens = cdiv(shard, out.parts);
    if (!simulated) out.warps = scored_ && out.tokens >= kManyTokens ? kWarpsAlone : kWarps;
  }
  while (out.warps > 1 && sharedWords(out) > kMostSharedWords) out.warps /= 2;
  if (out.isMany)
    out.writers = std::clamp<int64_t>(cdiv(experts_, out.warps * 32 / kLanesOfBlocks), 1,
                                      std::min(all - out.parts * ranks, kMostWriters));
  return out;
}

int64_t Dealer::clan() const { return team_.target() == "sim" ? kSimulatedClan : kClan; }

int64_t Dealer::mostClans() const {
  int64_t parts = std::max<int64_t>((team_.residentPrograms() - 1) / team_.size(), 1);
  return team_.size() * cdiv(parts, clan());
}

// Lanes that score a token together: a warp where each has a token, else so few that each has up to 32 experts.
int64_t Dealer::lanesFor(const Ranges& ranges) const {
  int64_t columns = paddedExperts(scored_), most = std::min<int64_t>(columns, 32);
  return std::clamp(padded(32 * ranges.warps / std::max<int64_t>(ranges.tokens, 1)),
                    std::clamp<int64_t>(columns / 32, 8, 32), most);
}

// Counts of each warp, the scores of its tokens with the sums of their groups, and what is of all.
int64_t Dealer::sharedWords(const Ranges& ranges) const {
  int64_t columns = paddedExperts(experts_), each = columns * (ranges.isMany ? 1 : team_.size());
  int64_t scored = paddedExperts(scored_), lanes = lanesFor(ranges);
  int64_t ofScores = scored_ ? 32 / lanes * ((lanes == 32 ? 3 : 2) * (scored + lanes) + scored / 2) : 0;
  return ranges.warps * (each + ofScores) + 2 * each + 6 * columns;
}

Dealer::Inside Dealer::inside(int64_t m) const {
  bool simulated = team_.target() == "sim";
  int64_t ranks = team_.size(), each = simulated ? kSimulatedSlotsEach : kSlotsEach, shard = shardRows(m, team_.size());
  if (m * topK_ <= (simulated ? kSimulatedAlone : kAloneInside) &&
      sharedWords({1, shard, false, kMostWarps}) <= kMostSharedWords)
    return {1, true};
  int64_t parts = std::clamp<int64_t>(cdiv(shard * topK_, each), 1, std::max<int64_t>(kMostInside / ranks, 1));
  int64_t ranges = parts * ranks;
  if (ranges <= kMostInside && ranges + 1 < team_.residentPrograms() &&
      sharedWords({parts, cdiv(shard, parts), true, kMostWarps}) <= kMostSharedWords)
    return {int(ranges + 1), true};
  return {int(std::min(cdiv(m * topK_, kSlotsEach), kMostInside)), false};
}

Constants Dealer::constantsOf(int64_t m, int64_t programs) const {
  int64_t columns = paddedExperts(experts_);
  return {{"E", experts_},
          {"PADDED", columns},
          {"BITS", int64_t(std::bit_width(uint64_t(experts_ - 1)))},
          {"ROWS_AT_ONCE", std::clamp<int64_t>(kTile / columns, 1, padded(programs))},
          {"BLOCK", int64_t(blockRows(m * topK_, experts_, config_, team_.target()))},
          {"GROUP", int64_t(kGroup)}};
}

void Dealer::launch(const Given& given, const Tensor& route, int64_t m, int stream, const Constants& constants) {
  Ranges ranges = rangesFor(m);
  int64_t programs = ranges.parts * team_.size();
  Constants all = constantsOf(m, programs);
  all.insert({{"K", topK_},
              {"R", int64_t(team_.size())},
              {"WARPS", int64_t(ranges.warps)},
              {"MANY", ranges.isMany},
              {"LANES", lanesFor(ranges)},
              {"SCORES", scored_ > 0},
              {"TOLD", findings_.address != 0},
              {"SIGMOID", false},
              {"GROUPS", int64_t(1)},
              {"TOP_GROUPS", int64_t(1)},
              {"RENORMALISE", false}});
  if (ranges.isMany && programs > (team_.target() == "sim" ? kSimulatedFewRanges : kFewRanges)) {
    all["CLAN"] = clan();
    all["MOST_CLANS"] = mostClans();
    all["ROWS_AT_ONCE"] = std::clamp<int64_t>(kTile / paddedExperts(experts_), 1, padded(clan()));
  }
  for (const auto& [name, value] : constants) all[name] = value;
  LaunchConfig launch{.grid = {int(ranges.isMany ? programs + ranges.writers : 1), 1, 1},
                      .numWarps = ranges.warps,
                      .stream = stream,
                      .cooperative = ranges.isMany,
                      .dependent = true};
  team_.launch(
      kernelOf("ops/route/route.py", "route"), launch,
      {given.logits, given.bias, given.ids, given.weights, route, given.spans.address ? given.spans : counts_, counts_,
       clans_, findings_.address ? findings_ : counts_, m, shardRows(m, team_.size()), ranges.tokens, ranges.parts},
      all);
}

}  // namespace tandem::ops
