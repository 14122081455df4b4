// All families of instructions. A new one is a file with a function like these and a line in families.cpp.
#pragma once
#include "emulator/decoder.h"
#include <span>

namespace tandem::emulator {

std::span<const Family> bitFamilies();

// Null: no family has the opcode.
const Family* familyOf(std::string_view opcode);

}  // namespace tandem::emulator
