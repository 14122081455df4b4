// Runs of equal calls: those of other ranks with the same numbers are compared, and forgotten when all ranks have made
// them.
#include "base/call_log.h"
#include <algorithm>

namespace tandem {
namespace {

std::string callText(const OperatorName& name, const OperatorCalls& c) {
  std::string out = name.what;
  for (size_t k = 0; k < c.sizes.size(); ++k)
    out += (k ? ", " : " with ") + (k < name.sizes.size() ? name.sizes[k] + " " : "") + std::to_string(c.sizes[k]);
  return out;
}

}  // namespace

// The same words on every rank.
CallMismatch CallLog::mismatch(int rank, const OfRank& mine, const Run& here, int other, const OfRank& theirs,
                               const Run& there) {
  if (rank < other) return mismatch(other, theirs, there, rank, mine, here);
  uint64_t number = std::max(here.first, there.first);
  std::string which = number ? "call " + std::to_string(number) + " of an operator" : "operator";
  return {rank, other, here.calls.place, there.calls.place,
          "rank " + std::to_string(rank) + "'s " + which + " is " + callText(mine.name, here.calls) + ", where rank " +
              std::to_string(other) + "'s is " + callText(theirs.name, there.calls) +
              ": all ranks make the same operators in one order and call them alike"};
}

std::optional<CallMismatch> CallLog::add(int rank, const OperatorCalls& calls) {
  std::vector<OfRank>& all = operators_[calls.op];
  all.resize(size_t(ranks_));
  OfRank& mine = all[size_t(rank)];
  if (!mine.count) mine.name = calls.made;
  Run run{mine.count, calls};
  mine.count += calls.count;
  std::optional<CallMismatch> found;
  uint64_t made = mine.count;  // by all
  for (int other = 0; other < ranks_; ++other) {
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
  for (OfRank& of : all)
    while (!of.runs.empty() && of.runs.front().first + of.runs.front().calls.count <= made) of.runs.pop_front();
  return found;
}

}  // namespace tandem
