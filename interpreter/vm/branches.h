// The two branches of a per-thread `if` in turns: when the threads of one cannot go on, those of the other may.
// Code before and after the `if` is run by all of its threads in step.
#pragma once
#include "interpreter/vm/machine.h"

namespace tandem::interpreter {

// The current branch cannot go on until memory it watches (`run.watched`) changes. Goes on with another, or blocks
// the run.
Step stall(Machine& m, Run& run, Blocked why, Step whenBlocked);

// Whether the other branch of this `if` has been started before this one's end.
inline bool isSplit(const MaskEntry& entry) { return entry.split; }
// The end of a split `if` for the current branch: true when the other is there already; else the run goes on with
// another branch.
bool joinBranches(Run& run, const MaskEntry& entry);

}  // namespace tandem::interpreter
