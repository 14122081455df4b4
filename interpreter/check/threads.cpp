// Barriers and fences inside a program (M3, M4).
#include "interpreter/check/checker.h"
#include "interpreter/schedule/stream.h"

namespace tandem::interpreter::check {

void Checker::threadBarrier(const Run& run) {
  flush();
  stateOf(run).barrier();
}

void Checker::warpBarrier(const Run& run) {
  if (run.lanes <= 1) return;
  if (run.lanes == 32 && run.mask.all) return threadBarrier(run);
  flush();
  ProgramState& p = stateOf(run);
  for (uint32_t warp = 0; warp < run.lanes; warp += 32) {
    if (!run.laneActive(warp)) continue;
    Clock all;
    OrderPoints fenced;
    for (uint32_t lane = warp; lane < warp + 32; ++lane) {
      if (const Clock* extra = p.extraOf(Part(lane))) all.join(*extra);
      all.raise(keyOf(p.actor, Part(lane)), p.time);
      if (!p.threadPuts.empty()) fenced.include(p.thread(lane, run.lanes).orders);
    }
    for (uint32_t lane = warp; lane < warp + 32; ++lane) {
      p.addExtra(lane, run.lanes, all);
      if (!p.threadPuts.empty()) p.thread(lane, run.lanes).orders.include(fenced);
    }
  }
  ++p.time;
}

void Checker::groupMeets(const Run& run, Group group) {
  stateOf(run).caller = group;
  if (group == Group::Block)
    threadBarrier(run);
  else if (group == Group::Warp)
    warpBarrier(run);
}

// Returns the knowledge of the calling threads together.
Clock Checker::callerClock(ProgramState& p, const Run& run) {
  if (run.mask.all) return p.wholeClock();
  Clock all = p.common;
  for (uint32_t lane = 0; lane < run.lanes; ++lane)
    if (run.laneActive(lane)) all.join(p.threadClock(Part(lane)));
  return all;
}

void Checker::learnByCaller(ProgramState& p, const Run& run, const Clock& clock) {
  if (run.mask.all) return p.learn(clock);
  for (uint32_t lane = 0; lane < run.lanes; ++lane)
    if (run.laneActive(lane)) p.addExtra(lane, run.lanes, clock);
}

void Checker::namedBarrierArrives(const Run& run, int64_t id, bool completes) {
  flush();
  ProgramState& p = stateOf(run);
  ProgramState::NamedBarrier& barrier = p.named[id];
  Stamp now = comesInTurn(p, run, barrier, id);
  barrier.gathering.join(callerClock(p, run));
  ++p.time;
  if (!completes) return;
  if (!barrier.key) barrier.key = newKey();
  barrier.gathering.raise(keyOfUpdates(barrier.key), ++barrier.rounds);
  barrier.last = now;
  barrier.done = barrier.gathering;
  barrier.gathering = Clock();
}

// A thread that comes to a named barrier must know that the barrier's last round has ended: otherwise it may be counted for
// that round. Returns the stamp of the call.
Stamp Checker::comesInTurn(const ProgramState& p, const Run& run, const ProgramState::NamedBarrier& barrier,
                           int64_t id) {
  MemoryAccess call;
  call.run = &run;
  call.rank = run.rank;
  call.program = run.prepared->program.get();
  call.location = run.prepared->code[run.pc].location;
  uint32_t ahead = run.lanes;  // a thread that does not know it
  for (uint32_t lane = 0; lane < run.lanes && barrier.rounds && ahead == run.lanes; ++lane) {
    auto knows = [&](const Clock& c) { return c.get(keyOfUpdates(barrier.key)) >= barrier.rounds; };
    const Clock* extra = p.extraOf(Part(lane));
    if (run.laneActive(lane) && !knows(p.common) && !(extra && knows(*extra))) ahead = lane;
  }
  Stamp now;
  now.actor = p.actor;
  now.time = p.time;
  now.part = ahead < run.lanes ? Part(ahead) : run.mask.all ? kEveryThread : Part(run.firstActiveLane());
  now.site = siteOf(call);
  if (ahead == run.lanes || !isNew(ReportKind::Race, now, barrier.last)) return now;
  Report r = begin(now, ReportKind::Race);
  r.message = "the call of barrier " + std::to_string(id) + " by " + actorText(now, now.part) +
              " is not ordered after the end of the barrier's round before: it may be counted for that one (M3)";
  Diagnostic d = placeOfStamp(barrier.last);
  d.message = "the last to come to that round: " + actorText(barrier.last, barrier.last.part);
  r.notes.insert(r.notes.begin(), std::move(d));
  tell(std::move(r));
  return now;
}

void Checker::namedBarrierLeaves(const Run& run, int64_t id) {
  flush();
  ProgramState& p = stateOf(run);
  learnByCaller(p, run, p.named[id].done);
}

// Of two `sc` fences the later one comes after the earlier one, when each one's scope includes the other's thread.
void Checker::learnSequential(ProgramState& p, const Run& run, Scope scope) {
  std::vector<Clock*> orders{&sequential_[{Scope::Cta, p.actor}]};
  if (scope >= Scope::Gpu) orders.push_back(&sequential_[{Scope::Gpu, uint32_t(p.rank)}]);
  if (scope == Scope::Sys) orders.push_back(&sequential_[{Scope::Sys, 0}]);
  Clock known;
  for (const Clock* c : orders) known.join(*c);
  Clock mine = known;
  if (run.mask.all) {
    p.learn(known);
    mine.join(p.wholeClock());
  } else {
    for (uint32_t lane = 0; lane < run.lanes; ++lane)
      if (run.laneActive(lane)) {
        p.addExtra(lane, run.lanes, known);
        mine.join(p.threadClock(Part(lane)));
      }
  }
  for (Clock* c : orders) c->join(mine);
}

void Checker::threadFence(const Run& run, Semantic semantic, Scope scope) {
  flush();
  ProgramState& p = stateOf(run);
  bool acquires = semantic != Semantic::Release && semantic != Semantic::Relaxed;
  if (acquires) {
    p.missed.unfenced.join(p.missed.loose);
    Clock ofAll;
    learnFenced(p, ofAll, p.pending, scope);
    if (run.mask.all) p.learn(ofAll);
    uint32_t lanes = run.mask.all ? uint32_t(p.threads.size()) : run.lanes;
    for (uint32_t lane = 0; lane < lanes; ++lane) {
      if (!run.laneActive(lane)) continue;
      Clock known = run.mask.all ? Clock() : ofAll;
      learnFenced(p, known, p.thread(lane, run.lanes).pending, scope);
      p.addExtra(lane, run.lanes, known);
    }
  }
  if (semantic == Semantic::SeqCst) learnSequential(p, run, scope);
  bool releases = semantic != Semantic::Acquire;
  if (releases && run.mask.all) {
    p.fences.add({p.common, Clock(), p.barrierTime, p.time, transfers_, scope, true, {}});
    // Knowledge of single threads is theirs to pass on.
    if (p.anyExtra)
      for (ThreadState& t : p.threads)
        t.fences.add({p.common, t.extra, p.barrierTime, p.time, transfers_, scope, true, {}});
  } else if (releases) {
    for (uint32_t lane = 0; lane < run.lanes; ++lane)
      if (run.laneActive(lane)) {
        ThreadState& t = p.thread(lane, run.lanes);
        t.fences.add({p.common, t.extra, p.barrierTime, p.time, transfers_, scope, false, {}});
      }
  }
  ++p.time;
}

}  // namespace tandem::interpreter::check
