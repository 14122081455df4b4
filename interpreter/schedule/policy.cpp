// The policy picks the runnable task that takes the next turn.
#include "interpreter/schedule/scheduler.h"
#include <algorithm>

namespace tandem::interpreter {

Task& World::Impl::pick() {
  std::vector<Task*>& tasks = m.runnable;
  uint32_t any = m.random.below(uint32_t(tasks.size()));
  switch (m.options.policy) {
    case SchedulePolicy::Random: return *tasks[any];
    case SchedulePolicy::RoundRobin: {
      Task& next =
          **std::min_element(tasks.begin(), tasks.end(), [](Task* a, Task* b) { return a->lastTurn < b->lastTurn; });
      next.lastTurn = ++turns;
      return next;
    }
    case SchedulePolicy::Priority: {
      // The highest of random priorities runs until it blocks; at a few random turns it becomes the lowest.
      for (Task* t : tasks)
        if (!t->priority) t->priority = int64_t(m.random.below(1u << 30)) + 1;
      Task& next =
          **std::max_element(tasks.begin(), tasks.end(), [](Task* a, Task* b) { return a->priority < b->priority; });
      if (m.random.oneIn(64)) next.priority = --lowestPriority;
      return m.random.oneIn(32) ? *tasks[any] : next;
    }
    case SchedulePolicy::SlowestRank: {
      // One rank runs only when no other can, but for a turn now and then.
      // policies go with seeds, too
      int slow = int((m.options.seed + m.options.seed / 4) % uint64_t(m.options.rankCount));
      if (m.random.oneIn(256)) return *tasks[any];
      for (size_t k = 0; k < tasks.size(); ++k)
        if (Task* t = tasks[(any + k) % tasks.size()]; t->rank != slow) return *t;
      return *tasks[any];
    }
  }
  return *tasks[any];
}

}  // namespace tandem::interpreter
