// The members of a team meet: this header counts arrivals and acts when all have arrived.
#pragma once
#include "interpreter/vm/machine.h"

namespace tandem::interpreter {

// Arrives at the next meeting of `team` for this rank, or asks after the one arrived at. Returns true when all have
// arrived: then the task has left it. Otherwise the caller blocks the task, which is woken when they have. `open` fills
// in the member's part; it is called once, on arrival, and returns false after reporting that the part does not fit.
bool meet(Machine& m, Task& task, int team, bool onStream, const std::vector<int>& members, Op op,
          const std::function<bool(Collective&, Collective::Member&)>& open,
          const std::function<void(Collective&)>& whenComplete);

}  // namespace tandem::interpreter
