// A program may be run by several blocks, a cluster. Attributes of the kernel and of its accesses say so.
#pragma once
#include "compiler/dialect/tile/tile.h"
#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tandem::tgpu {

// The blocks that run one program; 1 where the kernel has not been split.
int64_t blocksOf(mlir::func::FuncOp kernel);
void setBlocks(mlir::func::FuncOp kernel, int64_t blocks);
// Returns true if every block holds, or makes, the same as `op`: only the first block makes its writes.
bool isWhole(mlir::Operation* op);
void setWhole(mlir::Operation* op);
// Two stores to one tensor for which this is the same, and not null, touch the same elements in the same block only.
mlir::DenseI64ArrayAttr ownPart(tile::BlockStoreOp store);
void setOwnPart(tile::BlockStoreOp store, mlir::DenseI64ArrayAttr part);

}  // namespace tandem::tgpu
