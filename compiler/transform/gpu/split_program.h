// Several blocks may run a program together: each computes its part of the tiles. Later stages see an ordinary program
// of one block that knows its number.
#pragma once
#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tandem::transform::gpu {

// The blocks that run one program; 1 before split-program.
int64_t tgpu::blocksOf(mlir::func::FuncOp kernel);
// Returns true if every block holds, or makes, the same as `op`: only the first block makes its writes.
bool tgpu::isWhole(mlir::Operation* op);
void tgpu::setWhole(mlir::Operation* op);
// Two stores to one tensor for which this is the same, and not null, touch the same elements in the same block only.
mlir::Attribute tgpu::ownPart(mlir::Operation* op);

}  // namespace tandem::transform::gpu
