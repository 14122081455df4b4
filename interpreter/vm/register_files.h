// The registers of thread groups that are apart: each such group has a copy of its own, whose buffers are shared until
// they are written.
#pragma once
#include "interpreter/vm/machine.h"

namespace tandem::interpreter {

// Makes file `file` the one that instructions work on.
void selectFile(Run& run, uint32_t file);
// A copy of `file`, under a new number.
uint32_t cloneFile(Run& run, uint32_t file);
// The threads of `mask` bring their values from `file` into the current one.
void takeLanes(Machine& m, Run& run, uint32_t file, const LaneMask& mask);
// Forgets `file` when no group has it.
void dropUnusedFile(Machine& m, Run& run, uint32_t file);

}  // namespace tandem::interpreter
