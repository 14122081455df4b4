// This function finds what a loop computes again in each of its iterations.
#pragma once
#include <mlir/Dialect/SCF/IR/SCF.h>

namespace tandem::transform::gpu {

// Adds to `chain`, in their order, the ops of the loop's body that `value` is computed from. Returns false if there would be more than
// `most` of them, or if one of them changes from iteration to iteration or does more than compute: then the chain is of no use.
bool isInvariant(mlir::Value value, mlir::scf::ForOp loop, llvm::SmallVectorImpl<mlir::Operation*>& chain, size_t most);

}  // namespace tandem::transform::gpu
