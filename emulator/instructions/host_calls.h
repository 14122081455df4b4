// Functions that every PTX program may call and that the driver brings, and what calls need of branches.
#pragma once
#include "emulator/instruction.h"
#include <string>

namespace tandem::emulator {

// vprintf, __assertfail; null: there is none of the name. slots[0...4] have the addresses of the arguments' variables,
// slots[5] that of the result's.
Handler hostFunction(const std::string& name);

// Goes to the place that `detail` points to.
Handler branchHandler();

}  // namespace tandem::emulator
