// Strong stores, and updates whose old value nobody uses, that others see only behind later looks of the same program, as
// a GPU lets them: nothing but an `sc` fence between keeps the two in order (M4). Here stores wait in the program until it
// does what may not come before them.
#pragma once
#include "interpreter/vm/machine.h"

namespace tandem::interpreter {

// Returns true if the program is at a store that may be late: one thread's, of which not too many are late already.
bool mayBeLate(Machine& m, Run& run);
// Takes such a store and goes on behind it.
void takeLate(Machine& m, Run& run);
// Returns true for what computes, decides, and orders or exchanges among the program's threads, which may run while stores
// of the program are late.
bool isPassed(const Prepared& i);
// Returns true if the program's next instruction may: such a one, or a look at another word.
bool mayPass(Machine& m, Run& run);
// Called before an instruction that may: notes for reports that a look goes before a store.
void notePassing(Run& run);
// Does the late stores in their order, or the first. False after a report that ends the run.
bool storeLate(Machine& m, Run& run);
bool storeFirst(Machine& m, Run& run);

}  // namespace tandem::interpreter
