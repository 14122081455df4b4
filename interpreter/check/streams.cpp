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
// their ended grids, and their puts and gets through a barrier of their rank's stream. So do those of words and
// barriers that are no more.
void Checker::prune(Clock& clock) const {
  if (clock.size() < 32) return;
  auto isPast = [&](const Actor& a) {
    const GridLife& grid = actors_.grids[a.grid];
    return grid.endTime && clock.get(keyOf(grid.stream, kEveryThread)) >= grid.endTime;
  };
  auto areComplete = [&](const Actor& a, uint32_t number) {
    return clock.get(keyOf(actors_.hostOf(a.rank), kAllTransfers)) >= number;
  };
  clock.prune([&](const Clock::Entry& e) {
    if (isOneTransfer(e.key)) return areComplete(actors_[transferOwners_[uint32_t(e.key)]], uint32_t(e.key));
    if (isOfUpdates(e.key)) return bool(endedKeys_[uint32_t(e.key)]);
    const Actor& a = actors_[actorOf(e.key)];
    if (a.kind != ActorKind::Program) return false;
    Part part = Part(e.key);
    bool isOfTransfers = (isTransfer(part) && !isBulk(part)) || part == kAllTransfers;
    return isOfTransfers ? areComplete(a, e.time) : isPast(a);
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
  Clock known = p.joined();
  s.gridJoined.join(known);
  if (ended_.size() >= kEndedKept) ended_.clear();
  ended_[p.actor] = {std::move(p.missed), std::move(known)};
  for (const auto& [id, barrier] : p.named) endedKeys_[barrier.key] = true;
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
  Clock& known = hostOf(rank).clock;
  known.join(serialOf(stream).publish());
  prune(known);
}

void Checker::hostArrives(int rank, uint64_t meeting) {
  flush();
  hostMeetings_[meeting].join(hostOf(rank).publish());
}

void Checker::hostLeaves(int rank, uint64_t meeting) {
  Clock& known = hostOf(rank).clock;
  known.join(hostMeetings_[meeting]);
  prune(known);
}

}  // namespace tandem::interpreter::check
