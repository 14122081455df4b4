// Bounds of the addresses in a tile that are no strided access: quotients and remainders of places, choices and branches between them.
#pragma once
#include "compiler/analysis/strides.h"

namespace tandem::transform::gpu {

// Returns the elements from the least to the greatest that the tile of pointers may hold, as one dimension of stride 1. Its ends are
// values that are computed where all scalars are known on which they depend. Nothing where a loop carries the tile, or it is loaded.
std::optional<analysis::StridedAccess> boundsOf(mlir::Value pointer, mlir::Operation* access);

// Returns the op beyond which the places of a tile of pointers cannot be followed so, the loop that carries it, or the choice between
// places of several matrices; null: there is none.
mlir::Operation* unfollowed(mlir::Value pointer, mlir::Operation* access);

}  // namespace tandem::transform::gpu
