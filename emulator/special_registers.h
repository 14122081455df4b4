// PTX's special registers: those that stay the same while a warp lives are in its frame from the start.
#pragma once
#include "emulator/program.h"
#include <optional>

namespace tandem::emulator {

std::optional<Initial::Kind> constantRegister(const std::string& name);  // %tid.x
// Reads a register that changes (%clock, %globaltimer) to slots[0]; null: there is none of the name.
Handler changingRegister(const std::string& name);

}  // namespace tandem::emulator
