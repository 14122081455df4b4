// Spin locks and the order in which threads take them.
#pragma once
#include "interpreter/check/actors.h"

namespace tandem::interpreter::check {

struct HeldLock {
  uint64_t address = 0, free = 0;  // the value of a lock that nobody holds
  Stamp by;
};

// Somebody has taken a lock while it held others. It counts when the same thread has given both back: a word that another
// thread resets is a flag.
struct LockOrder {
  uint64_t held = 0, taken = 0;
  Stamp by;
  Part thread = kEveryThread;
  std::vector<uint64_t> others;  // all that it held
  bool heldBack = false, takenBack = false;
  Clock met;                     // what its program knew when all last met, or began: what is ordered without the locks
};

}  // namespace tandem::interpreter::check
