// Ranks tell one another about their calls of operators in the background: a call only notes itself, the monitors send
// and compare.
#include "runtime/ranks/rendezvous.h"
#include "runtime/ranks/wire.h"
#include <algorithm>
#include <poll.h>

namespace tandem::runtime::ranks {
namespace {

// In the place of an operator's number: the rank makes no more calls.
constexpr uint64_t kLeaving = ~uint64_t(0);

}  // namespace

void Rendezvous::noteLeaving() {
  {
    std::lock_guard lock(callsMutex_);
    leaving_ = true;
  }
  if (callsAny_) wake();
}

void Rendezvous::noteOperator(uint64_t op, const OperatorName& name) {
  {
    std::lock_guard lock(callsMutex_);
    untold_[op].push_back({.op = op, .made = name});
  }
  if (!callsAny_.exchange(true)) wake();
}

bool Rendezvous::hasOperator(uint64_t op) {
  std::lock_guard lock(callsMutex_);
  return untold_.contains(op);
}

void Rendezvous::noteCall(OrderedCall ordered, std::span<const int64_t> sizes) {
  uint64_t op = ordered.op;
  std::lock_guard lock(callsMutex_);
  untoldOrder_.push_back(ordered);
  std::deque<OperatorCalls>& calls = untold_.at(op);
  if (!calls.empty() && calls.back().made.what.empty() && std::ranges::equal(calls.back().sizes, sizes))
    ++calls.back().count;
  else
    calls.push_back({.op = op, .sizes = {sizes.begin(), sizes.end()}});
}

void Rendezvous::awaitComparison() const {
  if (callsAny_ && !stopped_) std::this_thread::sleep_for(3 * kTick);
}

void Rendezvous::compareLastCalls() {
  if (!callsAny_) return;
  endMonitor();
  tellCalls();
  for (int r = 0; r < options_.rankCount; ++r)
    if (peers_[size_t(r)].socket && !peers_[size_t(r)].gone) readFrom(r);
  reportCircle();
  checkRunning();
}

// As much as a packet holds. The order of calls comes last, when all operators are told.
std::pair<std::vector<OperatorCalls>, std::vector<OrderedCall>> Rendezvous::takeUntold() {
  constexpr size_t most = 128, mostOrdered = 2048;
  std::vector<OperatorCalls> taken;
  std::lock_guard lock(callsMutex_);
  for (auto& [op, calls] : untold_)
    for (; !calls.empty() && taken.size() < most; calls.pop_front()) taken.push_back(std::move(calls.front()));
  if (taken.size() == most) return {taken, {}};
  if (std::exchange(leaving_, false)) taken.push_back({.op = kLeaving});
  auto end = untoldOrder_.begin() + ptrdiff_t(std::min(mostOrdered, untoldOrder_.size()));
  std::vector<OrderedCall> order(untoldOrder_.begin(), end);
  untoldOrder_.erase(untoldOrder_.begin(), end);
  return {taken, order};
}

// Two monitors never wait for one another to read: the rest goes later.
bool Rendezvous::othersListen() const {
  return std::all_of(peers_.begin(), peers_.end(), [](const Peer& peer) {
    pollfd p{peer.socket.get(), POLLOUT, 0};
    return !peer.socket || peer.gone || ::poll(&p, 1, 0) > 0;
  });
}

bool Rendezvous::tellCalls() {
  while (othersListen()) {
    auto [calls, order] = takeUntold();
    if (calls.empty() && order.empty()) return reportCircle(), true;
    Writer out;
    out.put(uint32_t(calls.size()));
    for (const OperatorCalls& c : calls) {
      out.put(c.op).put(c.count).text(c.made.what).put(uint32_t(c.made.sizes.size()));
      for (const std::string& name : c.made.sizes) out.text(name);
      out.put(uint32_t(c.made.ranks.size()));
      for (int rank : c.made.ranks) out.put(rank);
      out.put(uint32_t(c.sizes.size()));
      for (int64_t size : c.sizes) out.put(size);
    }
    for (OrderedCall c : order) out.put(c.op).put(c.stream);
    for (int r = 0; r < options_.rankCount; ++r)
      if (r != options_.rank) sendTo(r, Kind::Calls, out.bytes);
    for (const OperatorCalls& c : calls) compare(options_.rank, c);
    for (OrderedCall c : order) order_.add(options_.rank, c);
  }
  return false;
}

void Rendezvous::hearCalls(int peer, const std::string& bytes) {
  Reader in(bytes);
  for (uint32_t left = in.get<uint32_t>(); left; --left) {
    OperatorCalls c;
    c.op = in.get<uint64_t>();
    c.count = in.get<uint64_t>();
    if (!c.count) return;
    c.made.what = in.text();
    for (uint32_t names = std::min(kMostSizes, in.get<uint32_t>()); names; --names) c.made.sizes.push_back(in.text());
    for (uint32_t ranks = in.get<uint32_t>(); ranks && in.left(); --ranks) {
      int rank = in.get<int>();
      if (rank >= 0 && rank < options_.rankCount) c.made.ranks.push_back(rank);
    }
    for (uint32_t sizes = std::min(kMostSizes, in.get<uint32_t>()); sizes; --sizes)
      c.sizes.push_back(in.get<int64_t>());
    compare(peer, c);
  }
  constexpr uint32_t most = 1 << 20;  // no rank has this many streams
  while (in.left() >= sizeof(OrderedCall::op) + sizeof(OrderedCall::stream)) {
    OrderedCall c{in.get<uint64_t>(), in.get<uint32_t>()};
    if (c.stream < most || c.stream == kNoStream) order_.add(peer, c);
  }
}

void Rendezvous::compare(int rank, const OperatorCalls& calls) {
  if (!calls.made.ranks.empty()) order_.open(calls.op, calls.made.ranks);
  if (std::optional<CallMismatch> found = calls.op == kLeaving ? calls_.leave(rank) : calls_.add(rank, calls))
    stop(reportOf(ReportKind::CollectiveMismatch, found->rank, found->message));
}

void Rendezvous::reportCircle() {
  std::vector<CallOrder::Step> circle = order_.circle();
  if (circle.empty()) return;
  auto nameOf = [&](int rank, uint64_t op) { return calls_.nameOf(rank, op); };
  stop(reportOf(ReportKind::CollectiveMismatch, circle[0].behind, circleText(circle, nameOf)));
}

}  // namespace tandem::runtime::ranks
