#include "emulator/instructions/families.h"
#include <unordered_map>

namespace tandem::emulator {

const Family* familyOf(std::string_view opcode) {
  static const auto* byOpcode = [] {
    auto* made = new std::unordered_map<std::string_view, const Family*>;
    for (std::span<const Family> families :
         {arithmeticFamilies(), atomicFamilies(), barrierFamilies(), bitFamilies(), carryFamilies(), compareFamilies(),
          controlFamilies(), convertFamilies(), copyFamilies(), functionFamilies(), matrixMoveFamilies(),
          matrixProductFamilies(), mbarrierFamilies(), memoryFamilies(), moveFamilies(), tensorMapFamilies(),
          warpFamilies()})
      for (const Family& family : families) made->emplace(family.opcode, &family);
    return made;
  }();
  auto found = byOpcode->find(opcode);
  return found == byOpcode->end() ? nullptr : found->second;
}

}  // namespace tandem::emulator
