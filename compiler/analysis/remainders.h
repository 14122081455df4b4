// This analysis finds the remainder that all elements of a tile of integers leave when a power of two divides them.
#pragma once
#include <cstdint>
#include <mlir/IR/Value.h>

namespace tandem::analysis {

// All elements leave `rest` when divided by `divisor`, a power of two; 1: nothing is known.
struct Remainder {
  uint64_t divisor = 1, rest = 0;
};

// Returns what all elements of an integer or a tile of integers leave, as far as their sums and products with constants tell.
Remainder remainderOf(mlir::Value value);

// Returns true if two pointers or tiles of pointers behind one pointer of the same type can have no element in common, as those to
// the real and the imaginary parts of numbers that lie side by side.
bool areInterleaved(mlir::Value one, mlir::Value other);

}  // namespace tandem::analysis
