// Passes describe kernels, accesses and products by attributes of the dialect `tgpu`; cluster.h, bulk_store.h and
// layouts.h have the others.
#pragma once
#include "compiler/dialect/tgpu/tgpu.h"
#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tandem::tgpu {

// The axis of the grid along which programs get longer, so that the last ones start first; nothing where they start in
// order.
std::optional<int> longestFirst(mlir::func::FuncOp kernel);
void setLongestFirst(mlir::func::FuncOp kernel, int axis);

// So many elements of an access through pointers are neighbours in memory, along the tile's dimension `axis`.
struct Neighbours {
  int32_t count, axis;
};
std::optional<Neighbours> neighboursOf(mlir::Operation* access);
void setNeighbours(mlir::Operation* access, Neighbours neighbours);

// A copy with such a number brings so many first rows of its tile, and what the slot has had before stays in its other rows. Nothing: it
// brings all rows.
std::optional<int64_t> rowsCopied(TmaLoadOp copy);
void setRowsCopied(TmaLoadOp copy, int64_t rows);

// The product is made by the instructions mma.sync.
bool usesMma(tile::DotOp product);
void setUsesMma(tile::DotOp product);

}  // namespace tandem::tgpu
