// The order of a kernel's basic blocks. A compiler may put the place where threads meet again before the branches that lead
// there; a warp runs the group of threads that is furthest back, which must be the one that the others wait for.
#pragma once
#include "emulator/program.h"
#include <vector>

namespace tandem::emulator {

// An instruction that leaves the order of the code.
struct Branch {
  uint32_t at;
  std::vector<const uint32_t*> targets;  // places in the code
  bool goesOn;                           // to the next instruction, perhaps
};

// Puts every block behind those that lead to it, loops apart, and the blocks of a loop side by side. `jump` is the handler
// of a branch to the place that `detail` points to.
void orderBlocks(Program& program, const std::vector<Branch>& branches, Handler jump);

}  // namespace tandem::emulator
