// Meetings of a team's members: who has arrived, and what happens when all have.
#pragma once
#include "interpreter/vm/machine.h"

namespace tandem::interpreter {

// Arrives at the next meeting of `team` for this rank, or asks after the one arrived at. Gives true when all have
// arrived: then the task has left it. Otherwise the caller blocks it, and it is woken when they have. `open` fills in
// what the member brings; it is called once, on arrival, and says false when it has reported that this does not fit.
bool meet(Machine& m, Task& task, int team, bool onStream, const std::vector<int>& members, Op op,
          const std::function<bool(Collective&, Collective::Member&)>& open,
          const std::function<void(Collective&)>& whenComplete);

}  // namespace tandem::interpreter
