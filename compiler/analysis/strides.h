// This header recognises tiles of pointers that step regularly through memory: address = base + a stride in every
// dimension, and a mask of bounds. An access that is not provably of this form is not recognised. The target is not
// known here.
#pragma once
#include "compiler/analysis/scalar_expr.h"
#include "compiler/dialect/tile/tile.h"

namespace tandem::analysis {

// One dimension d of the tile; `index` runs from 0 to the tile's size.
struct DimAccess {
  int64_t size = 1;
  ScalarExpr stride;                           // in elements; zero where all indices read the same place
  ScalarExpr offset;                           // where index 0 is
  std::optional<ScalarExpr> wrap;              // the place is (offset + index) mod wrap, which are all non-negative
  bool clamps = false;                         // the place is 0 or wrap - 1 instead where the sum is not below wrap
  std::optional<ScalarExpr> bound;             // accessed only where offset + index (not wrapped) < bound
  llvm::SmallVector<ScalarExpr, 1> alsoBelow;  // likewise, further bounds
  std::optional<ScalarExpr> lowerBound;        // accessed only where offset + index (not wrapped) >= lowerBound
  bool nonNegative = false;                    // offset is never negative
};

// address = base + baseOffset + sum over d of place_d * stride_d, where place_d = offset_d + index_d (mod wrap_d).
struct StridedAccess {
  mlir::Value base;       // a scalar pointer
  ScalarExpr baseOffset;  // in elements of the pointer's type
  llvm::SmallVector<DimAccess, 3> dims;
  llvm::SmallVector<mlir::Value, 1> guards;  // scalar conditions without which nothing is accessed

  // The base without the tokens of waits that it is tied to.
  mlir::Value memory() const;
  // Returns true if kernel arguments alone decide base, strides and remainders: a descriptor of a tensor can then be made
  // before the launch where they decide the bounds, too, `baseOffset` apart.
  bool dimsDescribeArguments() const;
};

class StrideAnalysis {
 public:
  explicit StrideAnalysis(const AxisInfoAnalysis& axes) : axes_(axes) {}

  // `pointer` is a tile of pointers; `mask` (may be null) is the tile of i1 the access goes with.
  // A dimension with several bounds is none unless `severalBounds`; that of arguments is its `bound` then.
  std::optional<StridedAccess> of(mlir::Value pointer, mlir::Value mask, bool severalBounds = false) const;
  // The block as it says of itself: bounds where it is checked.
  std::optional<StridedAccess> of(tile::BlockLoadOp load) const;
  std::optional<StridedAccess> of(tile::BlockStoreOp store) const;

 private:
  const AxisInfoAnalysis& axes_;
};

}  // namespace tandem::analysis
