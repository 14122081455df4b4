// A program may be run by several blocks, a cluster. The attributes that say so: `tgpu.blocks` of the kernel,
// `tgpu.whole` and `tgpu.own_part` of its accesses.
#pragma once
#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tandem::tgpu {

// The blocks that run one program; 1 where the kernel has not been split.
int64_t blocksOf(mlir::func::FuncOp kernel);
void setBlocks(mlir::func::FuncOp kernel, int64_t blocks);
// Returns true if every block holds, or makes, the same as `op`: only the first block makes its writes.
bool isWhole(mlir::Operation* op);
void setWhole(mlir::Operation* op);
// Two stores to one tensor for which this is the same, and not null, touch the same elements in the same block only.
mlir::Attribute ownPart(mlir::Operation* op);
void setOwnPart(mlir::Operation* op, mlir::Attribute part);

}  // namespace tandem::tgpu
