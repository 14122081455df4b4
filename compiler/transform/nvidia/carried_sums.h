// Sums that a loop carries and products add to: such products can stay under way from each iteration to the next.
#pragma once
#include "compiler/dialect/tgpu/tgpu.h"
#include <mlir/Dialect/SCF/IR/SCF.h>

namespace tandem::transform::nvidia {

// Which of the loop's carried values `sum` is; it is one.
unsigned carriedIndex(mlir::Value sum, mlir::scf::ForOp loop);

// Returns true if the loop carries `sum`, `result` is its next value, and nothing else reads either.
bool onlyAdds(mlir::Value sum, mlir::Value result, mlir::scf::ForOp loop);

// The loop runs once at least from now on: in a branch, at whose end the products that add to the carried values of
// these numbers are waited for, before their sums meet the initial ones of a loop that does not run. Returns the
// branch's end, behind the waits.
mlir::OpBuilder awaitSums(mlir::scf::ForOp loop, llvm::ArrayRef<unsigned> sums);

// Starts products, each of which only adds to what the loop carries and is awaited where it stands, when the next
// iteration begins: the left operands that the loop computes are carried there, and those of the next products computed
// while these are under way.
void startInNextIteration(mlir::scf::ForOp loop, llvm::ArrayRef<tgpu::WgmmaOp> products);

}  // namespace tandem::transform::nvidia
