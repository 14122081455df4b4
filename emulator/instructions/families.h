// All families of instructions. A new one is a file with a function like these and a line in families.cpp.
#pragma once
#include "emulator/decoder.h"
#include <span>

namespace tandem::emulator {

std::span<const Family> arithmeticFamilies();
std::span<const Family> atomicFamilies();
std::span<const Family> barrierFamilies();
std::span<const Family> bitFamilies();
std::span<const Family> carryFamilies();
std::span<const Family> compareFamilies();
std::span<const Family> controlFamilies();
std::span<const Family> convertFamilies();
std::span<const Family> copyFamilies();
std::span<const Family> functionFamilies();
std::span<const Family> matrixMoveFamilies();
std::span<const Family> matrixProductFamilies();
std::span<const Family> mbarrierFamilies();
std::span<const Family> memoryFamilies();
std::span<const Family> moveFamilies();
std::span<const Family> tensorMapFamilies();
std::span<const Family> warpFamilies();

// Null: no family has the opcode.
const Family* familyOf(std::string_view opcode);

}  // namespace tandem::emulator
