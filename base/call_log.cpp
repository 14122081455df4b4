// Runs of equal calls: those of other ranks with the same numbers are compared, and forgotten when all ranks have made
// them.
#include "base/call_log.h"
#include <algorithm>
#include <numeric>

namespace tandem {
namespace {

std::string callText(const OperatorName& name, const OperatorCalls& c) {
  std::string out = (c.made.what.empty() && c.sizes.empty() ? "the end of " : "") + name.what;
  for (size_t k = 0; k < c.sizes.size(); ++k)
    out += (k ? ", " : " with ") + (k < name.sizes.size() ? name.sizes[k] + " " : "") + std::to_string(c.sizes[k]);
  return out;
}

std::string numbered(uint64_t number) {
  return number ? "call " + std::to_string(number) + " of an operator" : "operator";
}

constexpr const char* kRule = ": all ranks make the same operators in one order and call them alike";

}  // namespace

std::string differentMembers(int rank, const std::vector<int>& members, int other, const std::vector<int>& theirs) {
  auto text = [](const std::vector<int>& ranks) {
    std::string out;
    for (int r : ranks) out += (out.empty() ? "" : ", ") + std::to_string(r);
    return out;
  };
  return "rank " + std::to_string(rank) + " makes a team of `members` " + text(members) + ", rank " +
         std::to_string(other) + " one of " + text(theirs) + ": the same on both, in one order";
}

// The same words on every rank.
CallMismatch CallLog::mismatch(int rank, const OfRank& mine, const Run& here, int other, const OfRank& theirs,
                               const Run& there) {
  if (rank < other) return mismatch(other, theirs, there, rank, mine, here);
  return {rank, other, here.calls.place, there.calls.place,
          "rank " + std::to_string(rank) + "'s " + numbered(std::max(here.first, there.first)) + " is " +
              callText(mine.name, here.calls) + ", where rank " + std::to_string(other) + "'s is " +
              callText(theirs.name, there.calls) + kRule};
}

std::optional<CallMismatch> CallLog::missing(int rank, const OfRank& mine, int left, const OfRank& theirs) {
  if (mine.count <= theirs.count) return {};
  auto extra = std::find_if(mine.runs.begin(), mine.runs.end(),
                            [&](const Run& r) { return r.first + r.calls.count > theirs.count; });
  std::string made = theirs.count ? " after " + std::to_string(theirs.count - 1) : " without one";
  return CallMismatch{rank, left, extra->calls.place, kNoPlace,
                      "rank " + std::to_string(rank) + "'s " + numbered(theirs.count) + " is " +
                          callText(mine.name, extra->calls) + ", and rank " + std::to_string(left) + " has left" +
                          made + kRule};
}

std::optional<CallMismatch> CallLog::leave(int rank) {
  left_[size_t(rank)] = true;
  for (auto& [number, op] : operators_) {
    if (std::ranges::find(op.ranks, rank) == op.ranks.end()) continue;
    for (int other : op.ranks)
      if (auto found = missing(other, op.calls[size_t(other)], rank, op.calls[size_t(rank)])) return found;
  }
  return {};
}

std::optional<CallMismatch> CallLog::add(int rank, const OperatorCalls& calls) {
  auto& [ranks, all] = operators_[calls.op];
  all.resize(size_t(ranks_));
  if (ranks.empty()) {
    ranks = calls.made.ranks;
    if (ranks.empty()) {
      ranks.resize(size_t(ranks_));
      std::iota(ranks.begin(), ranks.end(), 0);
    }
  }
  OfRank& mine = all[size_t(rank)];
  if (!mine.count) mine.name = calls.made;
  Run run{mine.count, calls};
  mine.count += calls.count;
  std::optional<CallMismatch> found;
  uint64_t made = mine.count;  // by all
  for (int other : ranks) {
    const OfRank& theirs = all[size_t(other)];
    made = std::min(made, theirs.count);
    if (other == rank) continue;
    auto there = std::partition_point(theirs.runs.begin(), theirs.runs.end(),
                                      [&](const Run& r) { return r.first + r.calls.count <= run.first; });
    for (; there != theirs.runs.end() && there->first < mine.count && !found; ++there)
      if (there->calls.sizes != calls.sizes || there->calls.made.what != calls.made.what)
        found = mismatch(rank, mine, run, other, theirs, *there);
  }
  mine.runs.push_back(std::move(run));
  for (size_t k = 0; k < ranks.size() && !found; ++k)
    if (left_[size_t(ranks[k])]) found = missing(rank, mine, ranks[k], all[size_t(ranks[k])]);
  for (OfRank& of : all)
    while (!of.runs.empty() && of.runs.front().first + of.runs.front().calls.count <= made) of.runs.pop_front();
  return found;
}

}  // namespace tandem
