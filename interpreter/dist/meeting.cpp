// The k-th arrival of each rank belongs to the team's k-th meeting; the last to arrive wakes the others.
#include "interpreter/dist/meeting.h"
#include <algorithm>

namespace tandem::interpreter {
namespace {

Collective& meetingOf(Machine::Meetings& all, int rank, const std::vector<int>& members) {
  uint64_t index = all.arrivals[rank]++;
  while (all.firstOpen + all.open.size() <= index) {
    auto made = std::make_unique<Collective>();
    made->ranks = members;
    made->members.resize(members.size());
    all.open.push_back(std::move(made));
  }
  return *all.open[size_t(index - all.firstOpen)];
}

// Everybody has gone on: forget it.
void leave(Machine::Meetings& all, Collective& c) {
  ++c.left;
  while (!all.open.empty() && all.open.front()->complete && all.open.front()->left == all.open.front()->ranks.size()) {
    all.open.pop_front();
    ++all.firstOpen;
  }
}

}  // namespace

bool meet(Machine& m, Task& task, int team, bool onStream, const std::vector<int>& members, Blocked why, Op op,
          const std::function<void(Collective::Member&)>& open, const std::function<void(Collective&)>& whenComplete) {
  Machine::Meetings& all =
      m.meetings[int64_t(team) * 2 + onStream + (team == 3 || team == 4 ? int64_t(task.rank) << 32 : 0)];
  if (!task.collective) {
    Collective& c = meetingOf(all, task.rank, members);
    size_t index = size_t(std::find(members.begin(), members.end(), task.rank) - members.begin());
    c.members[index].arrived = true;
    open(c.members[index]);
    c.op = op;
    c.timeNs = std::max(c.timeNs, task.clockNs);
    task.collective = &c;
    if (++c.arrived == c.ranks.size()) {
      c.complete = true;
      whenComplete(c);
      std::vector<Task*> waiting = std::move(c.waiting);
      for (Task* t : waiting) m.wake(*t);
    }
  }
  Collective& c = *task.collective;
  if (!c.complete) {
    c.waiting.push_back(&task);
    m.block(task, why);
    return false;
  }
  task.clockNs = std::max(task.clockNs, c.timeNs) + int64_t(m.nominal.barrierNs);
  task.collective = nullptr;
  leave(all, c);
  return true;
}

}  // namespace tandem::interpreter
