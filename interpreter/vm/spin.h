// Loops that only wait: a round that changes nothing by which the next could differ.
#pragma once
#include "interpreter/vm/machine.h"

namespace tandem::interpreter {

// The loop whose back edge jumps from `pc` to `target`, with those of the registers that it carries from round to round
// (`carried`) on which its course or its effect on memory depends. A register that only counts, or that is only read
// behind the loop, is none of them.
SpinLoop spinLoop(const Program& program, uint32_t target, uint32_t pc, const std::vector<Register>& carried);
// Called at any back edge `i`: loops inside it begin anew.
void beginInnerLoops(Run& run, const Prepared& i);
// Runs at the back edge `i` of a loop that may spin: the program sleeps until memory that it has read changes, if the
// loop's state is the same as some rounds ago and memory has not changed since.
Step backEdge(Machine& m, Run& run, const Prepared& i);

}  // namespace tandem::interpreter
