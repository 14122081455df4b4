// Makes tile.block_load and tile.block_store of what products read and write by pointer arithmetic, so that TMA can do it.
#pragma once
#include "compiler/target/target_info.h"
#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tandem::transform::gpu {

// Before selectProducts. Accesses that are not provably blocks stay as they are. Whether anything changed; then pointers that nothing
// reads any more are left for canonicalisation.
bool recogniseBlocks(mlir::func::FuncOp kernel, const target::TargetInfo& target);

}  // namespace tandem::transform::gpu
