// This part of a deadlock's report says which task waits for which other.
#pragma once
#include "interpreter/vm/machine.h"

namespace tandem::interpreter {

// One line a rank that would do something after its wait; empty when fewer than two would.
std::vector<Diagnostic> cycleNotes(Machine& m, const std::vector<Task*>& stuck);

}  // namespace tandem::interpreter
