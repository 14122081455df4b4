// What a report says of one program or stream: where it is and what it waits for.
#pragma once
#include "interpreter/vm/machine.h"

namespace tandem::interpreter {

// A note at its line; one that can run has no wait in its text.
Diagnostic waiterNote(Machine& m, Task& t);
// The order of reports: ranks, their programs, their streams.
bool before(const Task* a, const Task* b);

}  // namespace tandem::interpreter
