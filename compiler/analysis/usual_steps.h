// How far apart neighbours in a tile of integers or addresses usually are: a quotient or a remainder, a clamp or a choice
// interrupts a run of neighbours, and does not count. Nothing may be proved from it.
#pragma once
#include <cstdint>
#include <mlir/IR/Value.h>
#include <optional>

namespace tandem::analysis {

class AxisInfoAnalysis;

struct UsualStep {
  int64_t size = 0;
  bool isExact = true;  // no: a multiple of `size`, which is positive
  bool operator==(const UsualStep&) const = default;
};

// Returns by how much a tile's elements, of pointers counted in elements, usually grow along `dim`; nothing where that is
// not one number for all of them. `loaded`: numbers from memory count, too, as some number apart.
std::optional<UsualStep> usualStep(mlir::Value tile, unsigned dim, const AxisInfoAnalysis& axes, bool loaded = false);

}  // namespace tandem::analysis
