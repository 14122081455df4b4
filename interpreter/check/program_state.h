// This is the knowledge of the threads of one running program, with their releases and fences.
#pragma once
#include "interpreter/check/actors.h"
#include "interpreter/memory/observer.h"
#include "interpreter/program.h"
#include <algorithm>
#include <iterator>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tandem::interpreter::check {

// A put or get that one thread has called, or a warp, of which this is the first thread.
struct ThreadPut {
  uint32_t number = 0, time = 0;
  Part thread = 0;
  int peer = 0;
  uint32_t threads = 1;

  bool isBy(Part t) const { return t >= thread && uint32_t(t - thread) < threads; }
};

// The knowledge that a fence has ordered before later strong writes (M4) or signals and puts (M9, M11).
struct FencePoint {
  Clock common, extra;
  uint32_t barrierTime = 0, time = 0;  // time 0: no fence yet
  uint32_t transfers = 0;              // the last transfer before it: to a peer that it orders
  Scope scope = Scope::Sys;
  bool byAll = false;
  std::vector<ThreadPut> puts;  // by number, beyond `transfers`, among others that the thread knows nothing of

  void include(const FencePoint& other) {
    transfers = std::max(transfers, other.transfers);
    std::vector<ThreadPut> both;
    std::ranges::set_union(puts, other.puts, std::back_inserter(both), {}, &ThreadPut::number, &ThreadPut::number);
    std::erase_if(both, [&](const ThreadPut& put) { return put.number <= transfers; });
    puts = std::move(both);
  }
};

// The knowledge that `fence` and `quiet` have ordered: for every peer, and for single ones.
struct OrderPoints {
  FencePoint all;
  std::map<int, FencePoint> single;

  // A call that orders all peers renews, or ends, the points of single ones.
  const FencePoint& of(int peer) const {
    auto own = single.find(peer);
    return own == single.end() ? all : own->second;
  }
  // Orders what `other` does, too: its thread's calls lie before a barrier of all.
  void include(const OrderPoints& other) {
    for (auto& [peer, point] : single) point.include(other.of(peer));
    for (const auto& [peer, point] : other.single) single.try_emplace(peer, all).first->second.include(point);
    all.include(other.all);
  }
};

// The last fence of each scope that no later fence of the same or a wider scope stands for, the widest first.
class FencePoints {
 public:
  void add(FencePoint fence) {
    std::erase_if(points_, [&](const FencePoint& p) { return p.scope <= fence.scope; });
    points_.push_back(std::move(fence));
  }
  // The last fence of a scope or a wider one; null: none.
  const FencePoint* last(Scope scope) const {
    auto found = std::find_if(points_.rbegin(), points_.rend(), [&](const FencePoint& p) { return p.scope >= scope; });
    return found == points_.rend() ? nullptr : &*found;
  }

 private:
  std::vector<FencePoint> points_;
};

// The knowledge that relaxed reads have found, of all releases and of those of the program's own threads. A fence makes it
// known to the program.
struct Pending {
  Clock all, own;
  void join(const Pending& other) {
    all.join(other.all);
    own.join(other.own);
  }
};

struct ThreadState {
  Clock extra;  // learnt since the last barrier by this thread alone
  Pending pending;
  FencePoints fences;
  OrderPoints orders;
};

// The knowledge that an acquire would have brought had it been done right: for explanations only.
struct Missed {
  Clock relaxed;   // of releases, by reads that do not acquire
  Clock unfenced;  // of updates that release too little, by reads that acquire
  Clock loose;     // of such updates, by reads that do not acquire
  Clock narrow, spared;
  Clock gaveUp;  // of releases that loops have seen which may end without
};

// The knowledge that one of the loads which may go ahead of waits has in any case (M7).
struct EarlyView {
  struct Overtaken {
    uint32_t location = 0;  // of the wait
    Clock brought;
  };
  const EarlyLoad* load = nullptr;
  bool isBehind = false;  // the program has passed a wait that the load may overtake; the load has only `known`
  Clock known;
  std::vector<Overtaken> overtaken;

  bool mayOvertake(uint32_t wait) const {
    return std::binary_search(load->overtakes.begin(), load->overtakes.end(), wait);
  }
};

struct ProgramState {
  uint32_t actor = 0, grid = 0;
  int rank = 0;
  uint32_t time = 1;         // of the accesses to come
  uint32_t barrierTime = 0;  // up to it, all threads know each other's accesses
  Clock common;              // knowledge that all threads share
  Clock met;                 // the part of it that meetings of programs and the launch have brought
  Pending pending;
  std::vector<ThreadState> threads;  // empty until a thread does something alone
  bool anyExtra = false;
  FencePoints fences;  // by all threads: `simt.fence`
  OrderPoints orders;  // by all threads
  Missed missed;
  std::map<int, uint32_t> lastPut;    // number, by peer
  std::vector<ThreadPut> threadPuts;  // since the last barrier
  Group caller{};                     // of the transfers that the current instruction starts
  // The last transfers that each thread has completed, or fenced, for itself: behind a barrier all threads have.
  uint32_t completed = 0, fenced = 0;
  struct NamedBarrier {
    Clock gathering, done;
    uint32_t key = 0, rounds = 0;  // of the rounds that have ended, in clocks
    Stamp last;                    // who came last to the round before
  };
  std::map<int64_t, NamedBarrier> named;
  struct Loads {
    uint32_t mbarrier = 0, count = 0;  // the mbarrier's number among the actors, and how many loads it has counted
  };
  std::unordered_map<uint64_t, Loads> loads;  // by address of their mbarrier
  std::vector<EarlyView> early;               // by location of the loads
  bool threadsLooked = false;                 // a thread has made a strong read of its own

  // Threads that acquire a release mostly know already what it brings. Here is what is left of each release without what all threads know.
  struct {
    Clock common;  // as it was
    std::unordered_map<const void*, std::pair<Clock, Clock>> of;
  } unknown;
  const Clock& unknownOf(const Clock& brought) {
    constexpr size_t kKept = 64;
    if (!unknown.common.same(common) || unknown.of.size() >= kKept) unknown = {common, {}};
    auto [found, isNew] = unknown.of.try_emplace(brought.identity());
    if (isNew) found->second = {brought, brought.beyond(common, actor)};  // whose identity holds as long as it is kept
    return found->second.second;
  }

  ThreadState& thread(uint32_t lane, uint32_t lanes) {
    if (threads.size() < lanes) threads.resize(lanes);
    return threads[lane];
  }
  const Clock* extraOf(Part part) const { return anyExtra && part < threads.size() ? &threads[part].extra : nullptr; }
  Clock& extraFor(uint32_t lane, uint32_t lanes) {
    anyExtra = true;
    return thread(lane, lanes).extra;
  }
  void addExtra(uint32_t lane, uint32_t lanes, const Clock& c) {
    if (!c.empty()) extraFor(lane, lanes).join(c);
  }

  void learn(const Clock& c) {
    common.join(c);
    for (EarlyView& e : early)
      if (e.isBehind) e.known.join(c);
  }
  // Called where no load may go ahead (M7).
  void meetEarlyLoads() {
    for (EarlyView& e : early) {
      e.isBehind = false;
      e.known = Clock();
      e.overtaken.clear();
    }
  }
  const EarlyView* earlyView(uint32_t location) const {
    auto at = std::lower_bound(early.begin(), early.end(), location,
                               [](const EarlyView& e, uint32_t l) { return e.load->location < l; });
    return at != early.end() && at->load->location == location ? &*at : nullptr;
  }

  // The knowledge that a thread has of others' transfers; null: none.
  const Clock* ofOthers(Part thread) const {
    const Clock* extra = extraOf(thread);
    return extra && extra->latestOf(actor) ? extra : nullptr;
  }
  bool knows(Part thread, const Clock* others, const ThreadPut& put) const {
    return put.isBy(thread) || (others && others->get(keyOf(actor, put.thread)) >= put.time);
  }
  // Returns the number up to which one thread knows every one of the program's `all` transfers.
  uint32_t transfersKnown(Part thread, uint32_t all) const {
    const Clock* others = ofOthers(thread);
    for (const ThreadPut& put : threadPuts)
      if (!knows(thread, others, put)) return put.number - 1;
    return all;
  }
  std::vector<ThreadPut> putsKnownBeyond(Part thread, uint32_t number) const {
    const Clock* others = ofOthers(thread);
    std::vector<ThreadPut> known;
    for (const ThreadPut& put : threadPuts)
      if (put.number > number && knows(thread, others, put)) known.push_back(put);
    return known;
  }

  // Returns the knowledge that a release by one thread, or by the whole program, publishes.
  Clock threadClock(Part part) const {
    Clock c = common;
    if (const Clock* extra = extraOf(part)) c.join(*extra);
    c.raise(keyOf(actor, kEveryThread), barrierTime);
    c.raise(keyOf(actor, part), time);
    return c;
  }
  // Returns what threads have learnt alone, together. It is little beside what all know.
  Clock allExtra() const {
    Clock c;
    if (anyExtra)
      for (const ThreadState& t : threads) c.join(t.extra);
    return c;
  }
  // Returns the knowledge of the program's threads together.
  Clock joined() const {
    Clock c = common;
    c.join(allExtra());
    return c;
  }
  Clock wholeClock() const {
    Clock c = joined();
    c.raise(keyOf(actor, kEveryThread), time);
    return c;
  }
  // Drops the entries of the program's own transfers that all threads have waited for. Entries of others' transfers stay.
  void meetTransfers() {
    auto isComplete = [&](const Clock::Entry& e) {
      uint32_t number = uint32_t(e.key);
      return isOneTransfer(e.key) && number <= completed &&
             std::ranges::binary_search(threadPuts, number, {}, &ThreadPut::number);
    };
    for (ThreadState& t : threads)
      if (completed) t.extra.prune(isComplete);
    common.raise(keyOf(actor, kAllTransfers), completed);
    orders.all.transfers = std::max(orders.all.transfers, fenced);
    for (auto& [peer, point] : orders.single) point.transfers = std::max(point.transfers, fenced);
    completed = fenced = 0;
  }
  void barrier() {
    meetTransfers();
    common.join(allExtra());
    for (ThreadState& t : threads) {
      t.extra = Clock();
      pending.join(t.pending);
      t.pending = Pending();
      if (!threadPuts.empty()) orders.include(t.orders);
    }
    anyExtra = false;
    threadPuts.clear();
    barrierTime = time++;
    if (threadsLooked) meetEarlyLoads();
  }
};

}  // namespace tandem::interpreter::check
