// Meetings of a team's members: whom each call comes after, and that a rank's calls take turns (M12).
#include "interpreter/check/checker.h"
#include "interpreter/schedule/stream.h"
#include "interpreter/vm/fail.h"

namespace tandem::interpreter::check {

Checker::Meeting::Caller& Checker::callerOf(const Collective& meeting, int rank) {
  Meeting& m = meetings_[&meeting];
  m.callers.resize(meeting.ranks.size());
  return m.callers[meeting.indexOf(rank)];
}

// The team's state on a rank is read and written by each call, without atomics: the last one must have ended before.
void Checker::beginsCall(const Collective& meeting, const MemoryAccess& call, const Clock& known, Stamp now) {
  now.site = siteOf(call);
  TeamCall& last = teamCalls_[{call.rank, meeting.team}];
  if (last.by.actor && (last.open || !actors_.covers(known, last.by, last.by.part)) &&
      isNew(ReportKind::CollectiveMismatch, now, last.by)) {
    Report r = begin(now, ReportKind::CollectiveMismatch);
    r.message = "this call of a barrier or collective by " + actorText(now, now.part) +
                " is not ordered after the end of the one by " + actorText(last.by, last.by.part) +
                " for the same team: a rank's calls take turns, as both change the team's state (M12)";
    Diagnostic d = placeOfStamp(last.by);
    d.message = "the other call: by " + actorText(last.by, last.by.part);
    r.notes.insert(r.notes.begin(), std::move(d));
    tell(std::move(r));
  }
  last = {now, true};
}

void Checker::endsCall(const Collective& meeting, int rank, const Stamp& end) {
  TeamCall& last = teamCalls_[{rank, meeting.team}];
  if (last.by.actor != end.actor || last.by.part != end.part) return;  // another call came between, and was told
  last.by.time = end.time;
  last.open = false;
}

void Checker::arrives(const Run& run, const Collective& meeting) {
  flush();
  ProgramState& p = stateOf(run);
  if (run.mask.all && run.lanes > 1) p.barrier();
  Meeting::Caller& caller = callerOf(meeting, run.rank);
  caller.called = callerClock(p, run);
  caller.part = run.mask.all ? kEveryThread : Part(run.firstActiveLane());
  const Collective::Member& member = meeting.members[meeting.indexOf(run.rank)];
  MemoryAccess call;
  call.run = &run;
  call.rank = run.rank;
  call.program = member.program;
  call.location = member.location;
  Stamp now;
  now.actor = p.actor;
  now.time = p.time;
  now.part = caller.part;
  beginsCall(meeting, call, caller.called, now);
  meetings_[&meeting].all.join(caller.called);
  ++p.time;
}

// Whoever gets data comes after its owner's call.
void Checker::copies(const Collective& meeting, size_t from, size_t to) {
  flush();
  Meeting& m = meetings_[&meeting];
  m.from = from;
  m.callers[to].learns.join(m.callers[from].called);
}

void Checker::leaves(const Run& run, const Collective& meeting) {
  flush();
  ProgramState& p = stateOf(run);
  const Meeting::Caller& caller = callerOf(meeting, run.rank);
  Clock learns = meeting.ordersAll() ? meetings_[&meeting].all : caller.learns;
  p.met.join(learns);
  learnByCaller(p, run, learns);
  p.meetEarlyLoads();
  if (meeting.ordersAll()) fence(run, -1);
  Stamp end;
  end.actor = p.actor;
  end.time = p.time;
  end.part = caller.part;
  endsCall(meeting, run.rank, end);
  // The calling threads end the call together.
  if (!run.mask.all) {
    Clock ended;
    ended.raise(keyOf(p.actor, caller.part), p.time);
    learnByCaller(p, run, ended);
  } else if (run.lanes > 1) {
    p.barrier();
  }
}

void Checker::arrives(const Stream& stream, const Collective& meeting) {
  flush();
  Serial& s = serialOf(stream);
  s.clock.raise(keyOf(actors_.hostOf(stream.rank), kAllTransfers), transfers_);
  MemoryAccess call;
  call.stream = &stream;
  call.rank = stream.rank;
  if (stream.hostLocation != kNoLocation) {
    call.program = &m_.hostPlaces.program();
    call.location = stream.hostLocation;
  }
  Stamp now;
  now.actor = s.actor;
  const Clock& known = s.publish();
  now.time = s.time;
  beginsCall(meeting, call, known, now);
  meetings_[&meeting].all.join(known);
}

void Checker::leaves(const Stream& stream, const Collective& meeting) {
  Serial& s = serialOf(stream);
  s.clock.join(meetings_[&meeting].all);
  prune(s.clock);
  Stamp end;
  end.actor = s.actor;
  end.time = s.time;
  endsCall(meeting, stream.rank, end);
}

void Checker::forget(const Collective& meeting) { meetings_.erase(&meeting); }

}  // namespace tandem::interpreter::check
