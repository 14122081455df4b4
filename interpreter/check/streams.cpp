// Order of streams, grids, events and hosts (M13), and of meetings of hosts (M2).
#include "interpreter/check/checker.h"
#include "interpreter/schedule/stream.h"

namespace tandem::interpreter::check {

Checker::Serial& Checker::serialOf(const Stream& stream) {
  if (!stream.observed) {
    Serial& made = streams_.emplace_back();
    made.actor = actors_.add({ActorKind::Stream, stream.rank, stream.id});
    stream.observed = uint32_t(streams_.size());
  }
  return streams_[stream.observed - 1];
}

constexpr size_t kEndedKept = 4096;

// An entry goes if Actors::covers gives the same answers without it: programs and their bulk copies are known through
// their ended grids, and their puts and gets through a barrier of their rank's stream.
void Checker::prune(Clock& clock) const {
  if (clock.size() < 32) return;
  clock.prune([&](const Clock::Entry& e) {
    if (e.key >> 63 && !isOfWaits(e.key)) return false;
    const Actor& a = actors_[actorOf(e.key)];
    if (a.kind != ActorKind::Program) return false;
    Part part = Part(e.key);
    if ((isTransfer(part) && part != kBulk) || part == kAllTransfers)
      return clock.get(keyOf(actors_.hostOf(a.rank), kAllTransfers)) >= e.time;
    const GridLife& grid = actors_.grids[a.grid];
    return grid.endTime && clock.get(keyOf(grid.stream, kEveryThread)) >= grid.endTime;
  });
}

void Checker::enqueued(const Stream& stream) {
  flush();
  serialOf(stream).queued.push_back(hostOf(stream.rank).publish());
}

void Checker::itemStarts(const Stream& stream) {
  flush();
  Serial& s = serialOf(stream);
  if (s.queued.empty()) return;
  s.clock.join(s.queued.front());
  s.queued.pop_front();
}

void Checker::gridStarts(const Stream& stream) {
  flush();
  Serial& s = serialOf(stream);
  prune(s.clock);
  s.grid = uint32_t(actors_.grids.size());
  actors_.grids.push_back({s.actor, 0, nullptr});
  s.gridBase = s.publish();
  s.gridJoined = Clock();
}

void Checker::gridEnds(const Stream& stream) {
  flush();
  Serial& s = serialOf(stream);
  s.clock.join(s.gridJoined);
  actors_.grids[s.grid].endTime = s.time;
  answers_ = {};
  s.publish();
  prune(s.clock);
}

void Checker::programStarts(const Run& run, const Stream& stream) {
  Serial& s = serialOf(stream);
  auto p = std::make_unique<ProgramState>();
  Actor actor{ActorKind::Program, run.rank, 0, s.grid, run.id, run.lanes};
  p->actor = run.observed = actors_.add(actor);
  p->rank = run.rank;
  p->grid = s.grid;
  p->common = p->met = s.gridBase;
  for (const EarlyLoad& load : run.prepared->program->earlyLoads) p->early.push_back({&load, false, {}, {}});
  if (!actors_.grids[s.grid].program) actors_.grids[s.grid].program = run.prepared->program;
  programs_.resize(p->actor + 1);
  programs_[run.observed] = std::move(p);
}

void Checker::programEnds(const Run& run) {
  flush();
  ProgramState& p = stateOf(run);
  Serial& s = serialOf(*run.grid->stream);
  s.gridJoined.join(p.common);
  if (p.anyExtra)
    for (const ThreadState& t : p.threads) s.gridJoined.join(t.extra);
  if (ended_.size() >= kEndedKept) ended_.clear();
  ended_[p.actor] = {std::move(p.missed), p.joined()};
  held_.erase(held_.lower_bound({p.actor, 0}), held_.lower_bound({p.actor + 1, 0}));
  programs_[run.observed].reset();
}

void Checker::records(const Stream& stream, EventId event) {
  flush();
  events_[event] = serialOf(stream).publish();
}

void Checker::waitedFor(const Stream& stream, EventId event) {
  flush();
  serialOf(stream).clock.join(events_[event]);
}

void Checker::hostWaited(int rank, const Stream& stream) {
  flush();
  hostOf(rank).clock.join(serialOf(stream).publish());
}

void Checker::hostArrives(int rank, uint64_t meeting) {
  flush();
  hostMeetings_[meeting].join(hostOf(rank).publish());
}

void Checker::hostLeaves(int rank, uint64_t meeting) { hostOf(rank).clock.join(hostMeetings_[meeting]); }

}  // namespace tandem::interpreter::check
