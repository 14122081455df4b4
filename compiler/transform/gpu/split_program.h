// A program that several blocks run together: each computes its part of the tiles. What is left for later stages is an ordinary program of
// one block that knows its number.
#pragma once
#include "compiler/target/target_info.h"
#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tandem::transform::gpu {

// The blocks that run one program; 1 before splitProgram.
int64_t blocksOf(mlir::func::FuncOp kernel);
// Whether every block holds, or makes, the same as `op`: of its writes only the first block's happen.
bool isWhole(mlir::Operation* op);
void setWhole(mlir::Operation* op);
// Two stores to one tensor for which this is the same, and not null, touch the same elements in the same block only.
mlir::Attribute ownPart(mlir::Operation* op);

// 1. Separates positions that several tiles share.
// 2. Decides which dimension of each tile the `blocks` blocks divide (program_axes.h).
// 3. Gives these tiles the shapes of a block's part, and ranges and blocks of tensors the offset of the block's own.
// 4. Marks the accesses that all blocks would make alike.
// Failure: the kernel does what a cluster cannot; the error is at that line.
mlir::LogicalResult splitProgram(mlir::func::FuncOp kernel, int64_t blocks, const target::TargetInfo& target);

}  // namespace tandem::transform::gpu
