// Calls that are first everywhere have met and make room; heads of streams that are left wait for the heads before
// them.
#include "base/call_order.h"
#include <algorithm>
#include <numeric>

namespace tandem {

void CallOrder::add(int rank, OrderedCall call) {
  Operator& op = operators_[call.op];
  if (op.ranks.empty()) {
    op.ranks.resize(streams_.size());
    std::iota(op.ranks.begin(), op.ranks.end(), 0);
  }
  op.made.resize(streams_.size());
  Call made{call.op, op.made[size_t(rank)]++, call.place};
  while (op.first + op.meetings.size() <= made.number)
    op.meetings.push_back({.stream = std::vector<int64_t>(streams_.size(), kUnknown), .left = int(op.ranks.size())});
  Meeting& meeting = meetingOf(made);
  meeting.stream[size_t(rank)] = call.stream == kNoStream ? kFree : int64_t(call.stream);
  ++meeting.known;
  std::vector<Node> news;
  if (call.stream == kNoStream) {
    meeting.free = true;
    for (int r : op.ranks)
      if (int64_t stream = meeting.stream[size_t(r)]; stream >= 0) news.push_back({r, uint32_t(stream)});
    leave(rank, made);
  } else {
    auto& streams = streams_[size_t(rank)];
    if (streams.size() <= call.stream) streams.resize(call.stream + 1);
    streams[call.stream].push_back(made);
    news.push_back({rank, call.stream});
  }
  settle(std::move(news));
}

bool CallOrder::isFirst(int rank, Call call) const {
  int64_t stream = meetingOf(call).stream[size_t(rank)];
  if (stream < 0) return false;
  const Call& head = streams_[size_t(rank)][size_t(stream)].front();
  return head.op == call.op && head.number == call.number;
}

void CallOrder::settle(std::vector<Node> news) {
  while (!news.empty()) {
    Node node = news.back();
    auto& stream = streams_[size_t(node.rank)][node.stream];
    if (stream.empty()) {
      news.pop_back();
      continue;
    }
    Call head = stream.front();
    const Meeting& meeting = meetingOf(head);
    if (meeting.free) {
      stream.pop_front();
      leave(node.rank, head);
      continue;
    }
    news.pop_back();
    const std::vector<int>& ranks = operators_[head.op].ranks;
    if (meeting.known < int(ranks.size())) continue;
    if (!std::ranges::all_of(ranks, [&](int r) { return isFirst(r, head); })) continue;
    std::vector<int64_t> where = meeting.stream;
    for (int r : ranks) {
      auto at = uint32_t(where[size_t(r)]);
      streams_[size_t(r)][at].pop_front();
      news.push_back({r, at});
      leave(r, head);
    }
  }
}

void CallOrder::leave(int rank, Call call) {
  Meeting& meeting = meetingOf(call);
  meeting.stream[size_t(rank)] = kFree;
  if (--meeting.left) return;
  Operator& op = operators_[call.op];
  while (!op.meetings.empty() && !op.meetings.front().left) {
    op.meetings.pop_front();
    ++op.first;
  }
}

// The head that stands before a call on a rank, perhaps the call itself; null: none does, as far as is known.
const CallOrder::Call* CallOrder::before(int rank, Call call, bool hostsWait) const {
  const auto& streams = streams_[size_t(rank)];
  int64_t where = meetingOf(call).stream[size_t(rank)];
  if (where >= 0) return &streams[size_t(where)].front();
  if (where == kFree || !hostsWait || std::ranges::count(operators_.at(call.op).ranks, rank) == 0) return nullptr;
  auto held = std::ranges::find_if(streams, [](const auto& stream) { return !stream.empty(); });
  return held == streams.end() ? nullptr : &held->front();
}

// Each head leads to the heads that stand before it on other ranks. A walk that always takes the first way and meets
// its own path has found a circle. Heads from which no circle is found are not walked again.
std::vector<CallOrder::Step> CallOrder::circle(bool hostsWait) const {
  std::vector<Call> done;
  auto same = [](Call a) { return [a](Call b) { return a.op == b.op && a.number == b.number; }; };
  struct At {
    Step step;
    Call call;
    size_t next = 0;  // the next rank to look at
  };
  for (size_t rank = 0; rank < streams_.size(); ++rank) {
    for (const auto& stream : streams_[rank]) {
      if (stream.empty()) continue;
      auto stepOf = [](int rank, Call call) { return Step{rank, 0, call.op, call.number + 1, call.place}; };
      std::vector<At> path{{stepOf(int(rank), stream.front()), stream.front()}};
      while (!path.empty()) {
        At& at = path.back();
        size_t other = at.next++;
        if (other == streams_.size()) {
          done.push_back(at.call);
          path.pop_back();
          continue;
        }
        const Call* first = this->before(int(other), at.call, hostsWait);
        if (!first || same(*first)(at.call)) continue;
        Call before = *first;
        at.step.behind = int(other);
        at.step.isMade = meetingOf(at.call).stream[other] >= 0;
        auto again = std::ranges::find_if(path, [&](const At& a) { return same(before)(a.call); });
        if (again != path.end()) {
          std::vector<Step> out;
          for (; again != path.end(); ++again) out.push_back(again->step);
          return out;
        }
        if (std::ranges::none_of(done, same(before))) path.push_back({stepOf(int(other), before), before});
      }
    }
  }
  return {};
}

std::string circleText(const std::vector<CallOrder::Step>& circle,
                       const std::function<std::string(int, uint64_t)>& nameOf) {
  auto call = [&](const CallOrder::Step& s) {
    return "call " + std::to_string(s.number) + " of " + nameOf(s.rank, s.op);
  };
  std::string text;
  for (size_t k = 0; k < circle.size(); ++k) {
    bool isMade = circle[k].isMade;
    text += (k ? ", and rank " : "rank ") + std::to_string(circle[k].behind) + (isMade ? " has " : " comes to ") +
            call(circle[k]) + " behind " + call(circle[(k + 1) % circle.size()]) + (isMade ? " on one stream" : "");
  }
  return text + ", so they wait for one another: all ranks call the operators of one stream in one order";
}

}  // namespace tandem
