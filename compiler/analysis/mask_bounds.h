// Reads a mask as bounds on the indices of single dimensions, all of which must hold.
#pragma once
#include "compiler/analysis/affine_reader.h"

namespace tandem::analysis {

// offset + index of dimension `dim` is below `limit`, or (`isLower`) not below it.
struct MaskBound {
  unsigned dim;
  ScalarExpr offset;
  ScalarExpr limit;
  bool isLower;
};

// The mask is true exactly where all bounds and all guards (scalar conditions) hold.
struct MaskReading {
  llvm::SmallVector<MaskBound, 3> bounds;
  llvm::SmallVector<mlir::Value, 1> guards;
};

std::optional<MaskReading> readMask(mlir::Value mask, AffineReader& reader, const AxisInfoAnalysis& axes);

// The bounds that say the same together, each with a limit that is no choice between others: below min(a, b) is below a
// and below b.
llvm::SmallVector<MaskBound, 4> takenApart(llvm::ArrayRef<MaskBound> bounds, AffineReader& reader,
                                           const AxisInfoAnalysis& axes);

}  // namespace tandem::analysis
