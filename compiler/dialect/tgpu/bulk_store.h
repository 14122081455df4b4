// Block stores by an asynchronous unit: what attributes of tile.block_store say.
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

// The thread that issues a store of the unit first waits until its own earlier stores are done.
bool completesOwn(tile::BlockStoreOp store);
void setCompletesOwn(tile::BlockStoreOp store);
llvm::SmallVector<UncertainOffset> uncertainOffsets(tile::BlockStoreOp store);

}  // namespace tandem::tgpu
