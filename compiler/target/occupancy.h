// How many blocks of a kernel a multiprocessor holds at once (CUDA's occupancy calculator).
#pragma once
#include "compiler/target/target_info.h"

namespace tandem::target {

struct Occupancy {
  int blocks = 0;          // of a multiprocessor; 0: not even one fits
  const char* limit = "";  // what would allow the fewest: "registers", "shared memory", "threads" or "blocks"
};

// Returns the occupancy of a kernel whose blocks have `threads` threads of `registers` registers (0: unknown, taken to
// allow any number) and `sharedBytes` bytes of shared memory.
Occupancy occupancyOf(const TargetInfo& target, int threads, int registers, int sharedBytes);

}  // namespace tandem::target
