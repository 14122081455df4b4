// Elements of a tile that nothing a kernel leaves behind depends on.
#pragma once
#include "compiler/analysis/scalar_expr.h"
#include "compiler/dialect/tile/tile.h"

namespace tandem::transform::nvidia {

// Returns true if no element of `tile` whose index along `dim` is `count` or more reaches memory: each of them only
// ever becomes the same row (or column) of other tiles, which stores leave out.
bool isUnobservedFrom(mlir::Value tile, unsigned dim, const analysis::ScalarExpr& count,
                      const analysis::AxisInfoAnalysis& axes);
// The same of the rows of a block behind its tensor's last one.
bool areUnobservedBehindTensor(tile::BlockLoadOp load, const analysis::AxisInfoAnalysis& axes);

}  // namespace tandem::transform::nvidia
