// These functions let or force puts and gets complete that are not yet complete (M8, M9).
#pragma once
#include "interpreter/vm/machine.h"

namespace tandem::interpreter {

// Queues a put; decides by the seed whether it is held until something forces it.
void queuePut(Machine& m, Run& run, std::unique_ptr<PendingPut> put);
// Completes one pending operation by chance; says false when there is none to complete.
bool deliverOne(Machine& m, bool includeHeld);
// mayArrive() returns true if no signal that a fence orders before this put is still to arrive. deliver() completes the
// put, and those fenced before it.
bool mayArrive(Machine& m, const PendingPut& put);
bool deliver(Machine& m, PendingPut& put);
// Completes one bulk copy; false when there is none.
bool deliverOneBulk(Machine& m);
// Puts of `run` to `peer` (-1: all) that are still to come arrive after those before.
void fencePuts(Run& run, int peer);
// Completes the operations of `run` to `peer` (-1: all) that precede its last fence.
bool deliverFenced(Machine& m, Run& run, int peer);
// Completes all operations of `run`, to `peer` or to all (-1).
bool quietPuts(Machine& m, Run& run, int peer);
// Completes those of a program's own bulk copies that `which` names.
bool deliverBulk(Machine& m, Run& run, const std::function<bool(const PendingPut&)>& which);
// Completes every put and get issued by a rank.
bool deliverRank(Machine& m, int rank);

// True if the put is to write the byte, as far as it is not done.
bool brings(const PendingPut& put, Address byte);

}  // namespace tandem::interpreter
