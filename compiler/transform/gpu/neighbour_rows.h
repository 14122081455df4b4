// Addresses that lie `count` elements apart, and those of the elements between them, as one row.
#pragma once
#include "compiler/dialect/tile/tile.h"

namespace tandem::transform::gpu {

// The integer that a scalar, or each element of a tile, is known to be.
std::optional<int64_t> constantOf(mlir::Value number);

// Returns addresses of the same memory in `count` times as many columns: for each address of `pointer` its own and the next count - 1 ones,
// one behind the other, so that a row has no gaps. Nothing where the addresses of a row are not known to lie `count` elements apart.
mlir::Value rowWithNeighbours(mlir::OpBuilder& builder, mlir::Location at, mlir::Value pointer, int64_t count);

}  // namespace tandem::transform::gpu
