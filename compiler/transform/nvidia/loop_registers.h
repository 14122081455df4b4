// A thread's registers that tiles and a loop's products need.
#pragma once
#include "compiler/dialect/tile/tile.h"
#include <mlir/Dialect/SCF/IR/SCF.h>

namespace tandem::transform::nvidia {

// Of a thread's registers, those that tiles can have; the others hold addresses and what is on its way.
constexpr int64_t kRegistersForTiles = 192;

// Returns a thread's registers that the tile's elements take, dealt evenly; 0 for addresses, which move on by a scalar.
int64_t registersOf(mlir::Value tile, int numWarps);

// Returns the products whose results the loop's body adds to what it carries, or carries as they are.
llvm::SmallVector<tile::DotOp> productsOfSums(mlir::scf::ForOp loop);

// Returns the registers for what must be there at once in one iteration of a loop of wgmma products: carried tiles,
// the products' other results, and left operands that the loop computes of them. Addresses and scalars come on top.
int64_t registersOfLoop(mlir::scf::ForOp loop, int numWarps);

}  // namespace tandem::transform::nvidia
