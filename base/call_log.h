// This log compares the calls of an operator that the ranks make, which must be the same on all ranks. It knows neither
// streams nor memory.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tandem {

constexpr uint32_t kNoPlace = ~0u;
constexpr uint32_t kMostSizes = 256, kMostOperatorText = 200;  // of a call; bytes of a name with all that it says

// The number of the n-th operator of a team, the same on all its ranks. Teams of one number have no rank in common, so
// the first one tells them apart.
constexpr uint64_t operatorNumber(int team, int firstRank, uint32_t n) {
  return uint64_t(team) << 48 | uint64_t(firstRank) << 32 | n;
}

// An operator is known by its number and by a description of what it was made for.
struct OperatorName {
  std::string what;                // "`all_reduce` of up to 4096 fp16"
  std::vector<std::string> sizes;  // names of a call's numbers
  std::vector<int> ranks = {};     // of its team; empty: all
};

// Equal calls of one operator by a rank, one after the other. The making of an operator is its first call: it has a
// name and no sizes; its end is a call without either.
struct OperatorCalls {
  uint64_t op = 0, count = 1;
  std::vector<int64_t> sizes = {};
  OperatorName made = {};
  uint32_t place = 0;  // of the host line, numbered by the user of the log
};

// Says of two ranks that make one team that they name different members.
std::string differentMembers(int rank, const std::vector<int>& members, int other, const std::vector<int>& theirs);

// Two ranks' calls that should be equal and differ, or a call that `other` has left without.
struct CallMismatch {
  int rank = 0, other = 0;             // of two calls `other` is the lower one
  uint32_t place = 0, otherPlace = 0;  // kNoPlace: of a call that was not made
  std::string message;
};

class CallLog {
 public:
  explicit CallLog(int ranks) : ranks_(ranks), left_(size_t(ranks)) {}
  // Adds the next calls of `rank`; returns the first that differs from the same call of another rank, if one does.
  std::optional<CallMismatch> add(int rank, const OperatorCalls& calls);
  // `rank` makes no more calls; returns a call that another rank has made and this one has not, if there is one. So does
  // `add` from now on.
  std::optional<CallMismatch> leave(int rank);
  const std::string& nameOf(int rank, uint64_t op) const { return operators_.at(op).calls[size_t(rank)].name.what; }

 private:
  struct Run {
    uint64_t first = 0;  // the number of the call
    OperatorCalls calls;
  };
  struct OfRank {
    uint64_t count = 0;
    OperatorName name;
    std::deque<Run> runs;  // those that some rank has not made yet
  };
  struct Operator {
    std::vector<int> ranks;
    std::vector<OfRank> calls;  // by rank
  };
  static CallMismatch mismatch(int rank, const OfRank& mine, const Run& here, int other, const OfRank& theirs,
                               const Run& there);
  static std::optional<CallMismatch> missing(int rank, const OfRank& mine, int left, const OfRank& theirs);

  int ranks_;
  std::vector<bool> left_;
  std::map<uint64_t, Operator> operators_;
};

}  // namespace tandem
