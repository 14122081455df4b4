// These functions find the loops that programs are in, and the instructions by which the loops read memory.
#pragma once
#include "interpreter/vm/run.h"

namespace tandem::interpreter {

std::vector<const Prepared*> loadsOf(const Run& run, const SpinLoop& loop);
// The first load of the loop that begins at the run's place; null when there is none.
const Prepared* loadOfSpin(const Run& run);
// The back edge of that loop; the run's place where no loop begins there.
uint32_t endOfSpin(const Run& run);
// Returns true if all threads of the program that wait for memory are in loops that only look. A loop that tries to
// take a lock, by an exchange, waits for its holder.
bool onlyLooks(const Run& run);

struct Looping {
  const SpinLoop* loop = nullptr;  // null: none
  uint64_t rounds = 0;             // since it was entered
};
// The loop that the program is in and has gone round most often.
Looping loopingIn(const Run& run);

}  // namespace tandem::interpreter
