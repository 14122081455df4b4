// This log knows the order in which each rank's streams hold calls of operators, and finds calls that keep one another
// from ending. The only fact that it uses of operators is that a call ends on no rank before it is first in its stream
// on every rank.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tandem {

// the stream of a call that is being captured: calls before it are known when the graph runs
constexpr uint32_t kNoStream = ~0u;

struct OrderedCall {
  uint64_t op = 0;
  uint32_t stream = 0;
  uint32_t place = 0;  // of the host line, numbered by the user of the log
};

class CallOrder {
 public:
  explicit CallOrder(int ranks) : streams_(size_t(ranks)) {}

  // Only these ranks call the operator; without this, all do.
  void open(uint64_t op, const std::vector<int>& ranks) { operators_[op].ranks = ranks; }
  // The next call of `rank`, last in its stream. The calls of one operator are numbered on each rank.
  void add(int rank, OrderedCall call);

  // A call that is first in the stream of its rank while `behind`, another rank, has it behind the next of the circle.
  struct Step {
    int rank = 0, behind = 0;
    uint64_t op = 0;
    uint64_t number = 0;  // from 1
    uint32_t place = 0;
    bool isMade = true;  // by `behind`
  };
  // Steps that wait for one another, the last for the first. Empty: there are none among the calls so far. `hostsWait`:
  // nobody makes a call any more before the calls that are first in its streams end.
  std::vector<Step> circle(bool hostsWait = false) const;

 private:
  struct Call {
    uint64_t op;
    uint64_t number;
    uint32_t place;
  };
  // A call of one number: where each rank has it.
  struct Meeting {
    std::vector<int64_t> stream;  // by rank; kUnknown, kFree or a StreamId
    int known = 0, left = 0;
    bool free = false;  // on some rank it stands in no stream
  };
  struct Operator {
    std::vector<int> ranks;
    std::vector<uint64_t> made;  // by rank
    uint64_t first = 0;          // the number of meetings.front()
    std::deque<Meeting> meetings;
  };
  struct Node {
    int rank;
    uint32_t stream;
  };
  static constexpr int64_t kUnknown = -1, kFree = -2;

  Meeting& meetingOf(Call call) {
    Operator& op = operators_[call.op];
    return op.meetings[call.number - op.first];
  }
  const Meeting& meetingOf(Call call) const { return const_cast<CallOrder*>(this)->meetingOf(call); }
  bool isFirst(int rank, Call call) const;
  const Call* before(int rank, Call call, bool hostsWait) const;
  void settle(std::vector<Node> news);
  void leave(int rank, Call call);

  std::vector<std::vector<std::deque<Call>>> streams_;  // by rank and stream: the calls that have not met
  std::map<uint64_t, Operator> operators_;
};

// Says of such a circle which rank has which call behind which. `nameOf(rank, op)`.
std::string circleText(const std::vector<CallOrder::Step>& circle,
                       const std::function<std::string(int, uint64_t)>& nameOf);

}  // namespace tandem
