// The k-th arrival of each rank belongs to the team's k-th meeting; the last to arrive wakes the others.
#include "interpreter/dist/meeting.h"
#include "interpreter/schedule/stream.h"
#include "interpreter/vm/fail.h"
#include <algorithm>

namespace tandem::interpreter {
namespace {

Collective& meetingOf(Machine::Meetings& all, int64_t team, int rank, const std::vector<int>& members) {
  uint64_t index = all.arrivals[rank]++;
  while (all.firstOpen + all.open.size() <= index) {
    auto made = std::make_unique<Collective>();
    made->ranks = members;
    made->team = team;
    made->members.resize(members.size());
    all.open.push_back(std::move(made));
  }
  return *all.open[size_t(index - all.firstOpen)];
}

// Everybody has gone on: forget it.
void leave(Machine& m, Machine::Meetings& all, Collective& c) {
  ++c.left;
  while (!all.open.empty() && all.open.front()->complete && all.open.front()->left == all.open.front()->ranks.size()) {
    if (m.observer) m.observer->forget(*all.open.front());
    all.open.pop_front();
    ++all.firstOpen;
  }
}

// Members call a team's barriers and collectives in one order (M12).
void reportOrder(Machine& m, Task& task, const Collective& c, Op op) {
  if (task.isStream) return;
  auto& run = static_cast<Run&>(task);
  auto word = [](Op o) {
    return o == Op::Barrier ? "a barrier" : o == Op::Broadcastmem ? "a broadcast" : "an fcollect";
  };
  std::vector<Diagnostic> notes;
  for (size_t k = 0; k < c.ranks.size(); ++k) {
    const Collective::Member& other = c.members[k];
    if (!other.arrived || !other.program || c.ranks[k] == task.rank) continue;
    Diagnostic d = placeOf(*other.program, other.location);
    d.message = whoText(c.ranks[k], other.id) + " is here";
    notes.push_back(std::move(d));
  }
  fail(m, run, run.prepared->code[run.pc], ReportKind::CollectiveMismatch,
       std::string("this rank enters ") + word(op) + " of the team where another has entered " + word(c.op) +
           ": all members call them in the same order (M12)",
       std::move(notes));
}

}  // namespace

bool meet(Machine& m, Task& task, int team, bool onStream, const std::vector<int>& members, Op op,
          const std::function<bool(Collective&, Collective::Member&)>& open,
          const std::function<void(Collective&)>& whenComplete) {
  int64_t key = int64_t(team) * 2 + onStream + (team == 3 || team == 4 ? int64_t(task.rank) << 32 : 0);
  Machine::Meetings& all = m.meetings[key];
  if (!task.collective) {
    Collective& c = meetingOf(all, key, task.rank, members);
    size_t index = c.indexOf(task.rank);
    if (c.arrived && c.op != op) {
      reportOrder(m, task, c, op);
      return false;
    }
    c.members[index].arrived = true;
    if (!open(c, c.members[index])) return false;
    c.op = op;
    c.timeNs = std::max(c.timeNs, task.clockNs);
    task.collective = &c;
    c.members[index].task = &task;
    if (m.observer) {
      if (task.isStream)
        m.observer->arrives(static_cast<const Stream&>(task), c);
      else
        m.observer->arrives(static_cast<const Run&>(task), c);
    }
    if (++c.arrived == c.ranks.size()) {
      c.complete = true;
      whenComplete(c);
      std::vector<Task*> waiting = std::move(c.waiting);
      ++m.version;  // news for the group of threads that waits here, and for a loop that comes back here
      for (Task* t : waiting) m.wake(*t);
    }
  }
  Collective& c = *task.collective;
  if (!c.complete) {
    if (std::find(c.waiting.begin(), c.waiting.end(), &task) == c.waiting.end()) c.waiting.push_back(&task);
    return false;
  }
  task.clockNs = std::max(task.clockNs, c.timeNs) + m.clock.barrier();
  task.collective = nullptr;
  if (m.observer) {
    if (task.isStream)
      m.observer->leaves(static_cast<const Stream&>(task), c);
    else
      m.observer->leaves(static_cast<const Run&>(task), c);
  }
  leave(m, all, c);
  return true;
}

}  // namespace tandem::interpreter
