// The threads of a program when they are not all at one place: groups of them take turns, and each group's threads go
// in step. Groups part at the branches of a per-thread `if`, and at the end of an `if` or a loop when those that are
// there could go on and nothing else in the world can. They meet again at such an end, or at an instruction that needs
// them all.
#pragma once
#include "interpreter/vm/machine.h"

namespace tandem::interpreter {

// The current group cannot go on until memory it watches (`run.watched`) changes. Goes on with another, or blocks
// the run.
Step stall(Machine& m, Run& run, Blocked why, Step whenBlocked);

// Called when nothing in the world can run and the program is blocked: lets threads at the end of an `if` or a loop go
// on without the others. False when there are none.
bool leaveOthersBehind(Machine& m, Run& run);

// The current group is at the end of the innermost `if` or loop. Next: all of its threads are there, and are one group
// now. Otherwise the run goes on with another group.
Step joinAtEnd(Machine& m, Run& run);

// The current group is at an instruction that needs threads of other groups (`i.meets`). Next: they are there, and are
// one group now. Otherwise the run goes on with another group, or fails when they cannot come.
Step meetThreads(Machine& m, Run& run, const Prepared& i);

// Gives the buffers of all registers back.
void dropRegisters(Machine& m, Run& run);

}  // namespace tandem::interpreter
