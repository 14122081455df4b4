// Ranks tell one another what they call of operators, beside the calls: a call only notes itself, the monitors send and compare.
#include "runtime/backend/cuda/ranks/rendezvous.h"
#include "runtime/backend/cuda/ranks/wire.h"
#include <algorithm>
#include <poll.h>

namespace tandem::runtime::cuda {

void Rendezvous::noteOperator(uint64_t op, const OperatorName& name) {
  {
    std::lock_guard lock(callsMutex_);
    if (untold_.size() <= op) untold_.resize(op + 1);
    untold_[op].push_back({.op = op, .made = name});
  }
  if (!callsAny_.exchange(true)) wake();
}

void Rendezvous::noteCall(uint64_t op, std::span<const int64_t> sizes) {
  std::lock_guard lock(callsMutex_);
  std::deque<OperatorCalls>& calls = untold_.at(op);
  if (!calls.empty() && calls.back().made.what.empty() && std::ranges::equal(calls.back().sizes, sizes))
    ++calls.back().count;
  else
    calls.push_back({.op = op, .sizes = {sizes.begin(), sizes.end()}});
}

void Rendezvous::awaitComparison() const {
  if (callsAny_ && !stopped_) std::this_thread::sleep_for(3 * kTick);
}

std::vector<OperatorCalls> Rendezvous::takeUntold(size_t most) {
  std::vector<OperatorCalls> taken;
  std::lock_guard lock(callsMutex_);
  for (std::deque<OperatorCalls>& calls : untold_)
    for (; !calls.empty() && taken.size() < most; calls.pop_front()) taken.push_back(std::move(calls.front()));
  return taken;
}

// Two monitors never wait for one another to read: the rest goes later.
bool Rendezvous::othersListen() const {
  return std::all_of(peers_.begin(), peers_.end(), [](const Peer& peer) {
    pollfd p{peer.socket.get(), POLLOUT, 0};
    return !peer.socket || peer.gone || ::poll(&p, 1, 0) > 0;
  });
}

bool Rendezvous::tellCalls() {
  constexpr size_t most = 128;  // of a packet
  while (othersListen()) {
    std::vector<OperatorCalls> calls = takeUntold(most);
    if (calls.empty()) return true;
    Writer out;
    out.put(uint32_t(calls.size()));
    for (const OperatorCalls& c : calls) {
      out.put(c.op).put(c.count).text(c.made.what).put(uint32_t(c.made.sizes.size()));
      for (const std::string& name : c.made.sizes) out.text(name);
      out.put(uint32_t(c.sizes.size()));
      for (int64_t size : c.sizes) out.put(size);
    }
    for (int r = 0; r < options_.rankCount; ++r)
      if (r != options_.rank) sendTo(r, Kind::Calls, out.bytes);
    for (const OperatorCalls& c : calls) compare(options_.rank, c);
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
    for (uint32_t sizes = std::min(kMostSizes, in.get<uint32_t>()); sizes; --sizes) c.sizes.push_back(in.get<int64_t>());
    compare(peer, c);
  }
}

void Rendezvous::compare(int rank, const OperatorCalls& calls) {
  if (std::optional<CallMismatch> found = calls_.add(rank, calls))
    stop(reportOf("collective-mismatch", found->rank, found->message));
}

}  // namespace tandem::runtime::cuda
