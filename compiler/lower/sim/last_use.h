// Sets kLastUse on operands. Works on the finished program, so that it holds for shared registers and around loops.
#pragma once
#include "interpreter/program.h"

namespace tandem::lower {

void markLastUses(interpreter::Program& program);

}  // namespace tandem::lower
