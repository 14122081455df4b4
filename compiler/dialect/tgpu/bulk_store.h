// Block stores by an asynchronous unit: what the attributes `tgpu.tma` and `tgpu.uncertain` of tile.block_store say.
#pragma once
#include "compiler/dialect/tile/tile.h"

namespace tandem::tgpu {

// An offset that the program has to check when it runs, for the unit stores nothing there.
struct UncertainOffset {
  mlir::Value offset;
  int64_t multiple;  // whether it is a multiple of this; 1: whether it is negative
};

// Marks a store as one of the unit's; `uncertain` are offsets of the store.
void setBulk(tile::BlockStoreOp store, llvm::ArrayRef<UncertainOffset> uncertain);
bool isBulk(mlir::Operation* op);
llvm::SmallVector<UncertainOffset> uncertainOffsets(tile::BlockStoreOp store);

}  // namespace tandem::tgpu
