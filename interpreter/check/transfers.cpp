// Puts and gets are actors of their own. This file has the calls that order and complete them, and meetings of a grid's
// programs (M8, M9, M10).
#include "interpreter/check/checker.h"
#include "interpreter/schedule/stream.h"
#include "interpreter/simt/bulk_copy.h"

namespace tandem::interpreter::check {

void Checker::transferIssued(const Run& run, PendingPut& put) {
  flush();
  uint32_t lane = put.lane;
  ProgramState& p = stateOf(run);
  bool whole = lane >= kFirstPut;
  auto t = std::make_shared<Transfer>();
  t->clock = whole ? p.wholeClock() : p.threadClock(Part(lane));
  put.observedActor = p.actor;
  put.observed = t;
  if (put.bulk) {
    t->number = put.bulk->hasGroup() ? put.bulk->group : actors_.addLoad();
    ++p.time;
    return;
  }
  t->number = ++transfers_;
  transferOwners_.push_back(p.actor);
  ThreadState* thread = whole || p.threads.empty() ? nullptr : &p.threads[lane];
  const FencePoint* own = thread ? &thread->orders.of(put.peer) : nullptr;
  uint32_t fenced = std::max(p.orders.of(put.peer).transfers, own ? own->transfers : 0);
  Part part = Part((put.isGet ? kFirstGet : kFirstPut) + put.peer);
  if (!put.isGet) {
    t->clock.raise(keyOf(p.actor, part), fenced);
    t->carried = t->clock;
    // Earlier puts that no fence has ordered are not covered by this one's signal.
    uint32_t& last = p.lastPut[put.peer];
    if (last <= fenced)
      t->carried.raise(keyOf(p.actor, part), t->number);
    else
      t->carried.raise(keyOfTransfer(t->number), 1);
    last = t->number;
  }
  for (const FencePoint* point : {&p.orders.of(put.peer), own}) {
    if (!point || put.isGet) continue;
    for (const ThreadPut& before : point->puts)
      if (before.peer == put.peer) t->clock.raise(keyOfTransfer(before.number), 1);
  }
  if (!whole) p.threadPuts.push_back({t->number, p.time, Part(lane), put.peer, p.caller == Group::Warp ? 32u : 1u});
  ++p.time;
}

void Checker::groupsWaited(const Run& run, CopyKind kind, uint32_t lane, uint32_t group, bool read) {
  flush();
  const ProgramState& p = stateOf(run);
  auto waited = [&](Part copies) { actors_.waited(p.actor, Part(copies + lane), group, p.time); };
  if (kind == CopyKind::OfThread) return waited(kCopied);
  waited(kStoreRead);
  if (!read) waited(kStored);
}

// An mbarrier has counted a load: it brings the clock of who has started it, and its own count.
Clock Checker::carriedByLoad(const MemoryAccess& a) {
  const PendingPut& load = *a.transfer;
  const auto& t = *static_cast<const Transfer*>(load.observed.get());
  ProgramState::Loads& loads = programs_[load.observedActor]->loads[a.address];
  if (!loads.mbarrier) loads.mbarrier = actors_.add(actors_[load.observedActor]);
  actors_.counted(t.number, loads.mbarrier, ++loads.count);
  Clock carried = t.clock;
  carried.raise(keyOf(loads.mbarrier, kLoaded), loads.count);
  return carried;
}

void Checker::fence(const Run& run, int peer) { orderLater(run, true, peer); }

// With `transfers`, transfers that are not complete are also ordered before later ones to the same peer. `peer` limits
// the order to that peer; -1: all.
void Checker::orderLater(const Run& run, bool transfers, int peer) {
  flush();
  ProgramState& p = stateOf(run);
  auto order = [&](OrderPoints& orders, const Clock& extra, uint32_t number, const std::vector<ThreadPut>& puts) {
    auto renew = [&](FencePoint& last) {
      FencePoint point{p.common, extra, p.barrierTime, p.time, number, Scope::Sys, run.mask.all, puts};
      if (!transfers) {
        point.transfers = last.transfers;
        point.puts = std::move(last.puts);
      }
      last = std::move(point);
    };
    if (peer >= 0) return renew(orders.single.try_emplace(peer, orders.all).first->second);
    renew(orders.all);
    if (transfers) return orders.single.clear();
    for (auto& [to, point] : orders.single) renew(point);
  };
  if (run.mask.all && p.threadPuts.empty()) {
    order(p.orders, Clock(), transfers_, {});
    if (p.anyExtra)
      for (ThreadState& t : p.threads) order(t.orders, t.extra, transfers_, {});
  } else {
    uint32_t knownToAll = transfers_;
    for (uint32_t lane = 0; lane < run.lanes; ++lane) {
      if (!run.laneActive(lane)) continue;
      ThreadState& t = p.thread(lane, run.lanes);
      uint32_t known = p.transfersKnown(Part(lane), transfers_);
      knownToAll = std::min(knownToAll, known);
      order(t.orders, t.extra, known, p.putsKnownBeyond(Part(lane), known));
    }
    if (run.mask.all) order(p.orders, Clock(), knownToAll, {});
    if (run.mask.all && transfers && peer < 0) p.fenced = transfers_;
  }
  ++p.time;
}

void Checker::quiet(const Run& run, int peer) {
  flush();
  ProgramState& p = stateOf(run);
  auto completed = [&](uint32_t number) {
    Clock complete;
    if (peer < 0) {
      complete.raise(keyOf(p.actor, kAllTransfers), number);
    } else {
      complete.raise(keyOf(p.actor, Part(kFirstPut + peer)), number);
      complete.raise(keyOf(p.actor, Part(kFirstGet + peer)), number);
    }
    return complete;
  };
  bool isTogether = run.mask.all && p.threadPuts.empty();
  if (isTogether) p.learn(completed(transfers_));
  if (run.mask.all && !isTogether && peer < 0) p.completed = transfers_;
  for (uint32_t lane = 0; lane < run.lanes && !isTogether; ++lane) {
    if (!run.laneActive(lane)) continue;
    uint32_t known = p.transfersKnown(Part(lane), transfers_);
    Clock complete = completed(known);
    for (const ThreadPut& put : p.putsKnownBeyond(Part(lane), known))
      if (peer < 0 || put.peer == peer) complete.raise(keyOfTransfer(put.number), 1);
    p.addExtra(lane, run.lanes, complete);
  }
  orderLater(run, peer < 0, -1);
}

void Checker::gridBarrierArrives(const Run& run) {
  flush();
  ProgramState& p = stateOf(run);
  p.barrier();
  GridMeeting& meeting = gridMeetings_[p.grid];
  meeting.gathering.join(p.wholeClock());
  ++p.time;
  if (++meeting.arrived < uint32_t(run.grids[0]) * uint32_t(run.grids[1]) * uint32_t(run.grids[2])) return;
  meeting = {.gathering = {}, .done = std::move(meeting.gathering), .arrived = 0};
}

void Checker::waitedFor(const Run& run, EventId event) {
  flush();
  ProgramState& p = stateOf(run);
  p.common.join(events_[event]);
  p.met.join(events_[event]);
  p.meetEarlyLoads();
}

void Checker::gridBarrierLeaves(const Run& run) {
  ProgramState& p = stateOf(run);
  const Clock& brought = gridMeetings_[p.grid].done;
  p.common.join(brought);
  p.met.join(brought);
  p.meetEarlyLoads();
}

}  // namespace tandem::interpreter::check
