// A note in a report describes one program or stream: where it is, what it waits for, what its loop reads.
#pragma once
#include "interpreter/schedule/stream.h"
#include "interpreter/vm/machine.h"

namespace tandem::interpreter {

// A note at its line; one that can run has no wait in its text.
Diagnostic waiterNote(Machine& m, Task& t);
// Where a program whose current threads wait for others of it waits for memory; the note's place otherwise.
Diagnostic headOf(const Run& run, const Diagnostic& note);
// "`flag` + 8 of rank 1".
std::string signalName(Machine& m, Address address);
// Names the item that a stream is at.
std::string itemText(const Stream& s);
// The order of reports: ranks, their programs, their streams.
bool before(const Task* a, const Task* b);

}  // namespace tandem::interpreter
