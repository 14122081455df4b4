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
    for (uint32_t lane = warp; lane < warp + 32; ++lane) {
      if (const Clock* extra = p.extraOf(Part(lane))) all.join(*extra);
      all.raise(keyOf(p.actor, Part(lane)), p.time);
    }
    for (uint32_t lane = warp; lane < warp + 32; ++lane) p.addExtra(lane, run.lanes, all);
  }
  ++p.time;
}

void Checker::groupMeets(const Run& run, Group group) {
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
  barrier.gathering.join(callerClock(p, run));
  ++p.time;
  if (!completes) return;
  barrier.done = barrier.gathering;
  barrier.gathering = Clock();
}

void Checker::namedBarrierLeaves(const Run& run, int64_t id) {
  flush();
  ProgramState& p = stateOf(run);
  learnByCaller(p, run, p.named[id].done);
}

void Checker::threadFence(const Run& run, Semantic semantic, Scope scope) {
  flush();
  ProgramState& p = stateOf(run);
  bool acquires = semantic != Semantic::Release && semantic != Semantic::Relaxed;
  if (run.mask.all) {
    if (acquires) {
      Clock known;
      learnFenced(known, p.pending, scope, p.rank);
      p.learn(known);
      for (uint32_t lane = 0; lane < p.threads.size(); ++lane) {
        Clock own;
        learnFenced(own, p.threads[lane].pending, scope, p.rank);
        p.addExtra(lane, run.lanes, own);
      }
    }
    p.fence = {p.common, Clock(), p.barrierTime, p.time, transfers_, scope, true, {}};
    // Knowledge of single threads is theirs to pass on.
    if (p.anyExtra)
      for (ThreadState& t : p.threads)
        t.fence = {p.common, t.extra, p.barrierTime, p.time, transfers_, scope, true, {}};
  } else {
    for (uint32_t lane = 0; lane < run.lanes; ++lane) {
      if (!run.laneActive(lane)) continue;
      ThreadState& t = p.thread(lane, run.lanes);
      if (acquires) {
        Clock known;
        learnFenced(known, p.pending, scope, p.rank);
        learnFenced(known, t.pending, scope, p.rank);
        p.addExtra(lane, run.lanes, known);
      }
      t.fence = {p.common, t.extra, p.barrierTime, p.time, transfers_, scope, false, {}};
    }
  }
  ++p.time;
}

}  // namespace tandem::interpreter::check
