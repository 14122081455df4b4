// Checks that every communication op starts with: its team, its peer, its symmetric address, its group of threads.
#pragma once
#include "interpreter/vm/fail.h"
#include "interpreter/vm/registers.h"

namespace tandem::interpreter {

// Members of the team in register `r` (kNone: the one that the kernel runs on); null after a report.
const std::vector<int>* teamOperand(Machine& m, Run& run, const Prepared& i, Register r, int* id);
// The rank in the world of a rank of the team that the kernel runs on; -1 after a report.
int peerOf(Machine& m, Run& run, const Prepared& i, int64_t rank);
// Returns true if some calling thread's value of `peers` is this peer, a rank in the world.
bool namesPeer(Machine& m, Run& run, Register peers, int peer);
// Calls body(peer) for each peer, a rank in the world, that `peers` names, while the run's mask has the threads that name it; once with -1
// where it is kNone: for all peers.
bool eachPeer(Machine& m, Run& run, const Prepared& i, Register peers, const std::function<bool(int)>& body);
// Returns true if the address is in a live symmetric buffer of some rank, of the team that the kernel runs on.
bool checkSymmetric(Machine& m, Run& run, const Prepared& i, Address address, const char* what);

// True if the threads have values of their own, as operands or as results.
bool differs(const Run& run, const Prepared& i);
// The thread an observer sees when `lane` calls for its group, or once for all.
uint32_t observedThread(const Run& run, const Prepared& i, Group group, uint32_t lane);
// A block call needs all threads; a warp call needs all threads of each warp that calls.
bool checkGroup(Machine& m, Run& run, const Prepared& i, Group group, const char* what);
// The same for a call that one group of a rank makes: threads that are apart call each group for itself (M12).
bool checkOneGroup(Machine& m, Run& run, const Prepared& i, Group group, const char* what);
// Calls body(lane) once for each call the instruction makes: the active threads of a thread call whose operands differ
// by thread or which `repeats` (is not idempotent); the first active thread of each warp of a warp call; once of a
// block call.
bool eachCaller(Machine& m, Run& run, const Prepared& i, Group group, bool repeats, const char* what,
                const std::function<bool(uint32_t)>& body);

}  // namespace tandem::interpreter
