// Groups of a program's threads part and unite here: masks, the stacks of open `if`s and loops, registers. Another file
// decides which group goes on.
#pragma once
#include "interpreter/vm/machine.h"

namespace tandem::interpreter {

// Makes a group of the threads of some `if` that did not take its first branch. All groups are parked. False when every
// second branch is under way.
bool startOther(Run& run);
// Lets threads that are at the end of an `if` or a loop go on without the others. All groups are parked. False when
// none are.
bool releaseEarly(Machine& m, Run& run);
// Parked group `index` is at the same place as the current one: its open `if`s and loops become the current group's.
void uniteStacks(Run& run, size_t index);
// Returns true if threads of the current group may part where they are: not inside a loop, whose threads leave it one
// by one.
bool canPart(const Run& run);
// They become a parked group at the same place, with registers of their own.
ThreadGroup& partFrom(Run& run, const LaneMask& threads);
// Parked group `index` ends: its threads join the current group.
void absorb(Machine& m, Run& run, size_t index);

}  // namespace tandem::interpreter
