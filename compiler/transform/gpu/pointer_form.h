// A block of a strided tensor as a tile of pointers: the opposite of block_form.h.
#pragma once
#include "compiler/analysis/axis_info.h"
#include "compiler/dialect/tile/tile.h"

namespace tandem::transform::gpu {

// Puts a load through pointers in the place of `load`.
tile::LoadOp pointerForm(tile::BlockLoadOp load, const analysis::AxisInfoAnalysis& axes);

}  // namespace tandem::transform::gpu
