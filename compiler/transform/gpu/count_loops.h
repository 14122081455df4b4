// Loops whose number of iterations is known before they run.
#pragma once
#include <mlir/Dialect/SCF/IR/SCF.h>

namespace tandem::transform::gpu {

// Makes a `for` of a `while` that counts up to a bound, or down to zero, by what it does not change, and erases it. Returns false if it
// is no such loop.
bool countLoop(mlir::scf::WhileOp loop);

}  // namespace tandem::transform::gpu
