// A footprint says where accesses touch memory over all iterations of the loops that stand at a place or inside of it: bounds that are
// values of the kernel, computed before that place by arithmetic on intervals.
#pragma once
#include "compiler/analysis/strides.h"

namespace tandem::transform::gpu {

// The elements from `first` to `last` behind the base of an access, both i64; none unless `exists`, which may be null: then some are.
struct ElementRange {
  mlir::Value first, last, exists;
};

// Returns what a load, a store or an atomic update touches at most, or nothing if it is no strided access. A mask that cannot be read is
// left out: with it the access would only be smaller.
std::optional<analysis::StridedAccess> accessOf(mlir::Operation* op, const analysis::AxisInfoAnalysis& axes);

class Footprint {
 public:
  // Every value that decides the access is there before `place`, or counts a loop at it or inside of it.
  static bool isKnownAt(mlir::Operation* place, const analysis::StridedAccess& access);

  Footprint(mlir::Operation* place, mlir::Location where) : place_(place), builder_(place), where_(where) {}

  // The ranges together hold all elements that the access may touch. A dimension that wraps around or is clamped makes two of one.
  llvm::SmallVector<ElementRange, 2> of(const analysis::StridedAccess& access);
  // The last column, or one behind it, that the access touches in rows of `row` elements. Only of one that no loop inside of the place
  // moves.
  mlir::Value lastColumn(const analysis::StridedAccess& access, mlir::Value row);

 private:
  struct Interval {
    mlir::Value low, high;
    bool isPoint() const { return low == high; }
  };

  Interval ofSum(const analysis::ScalarExpr& sum);
  Interval ofSymbol(mlir::Value symbol);
  Interval added(Interval a, Interval b);
  Interval multiplied(Interval a, Interval b);
  Interval ofPlaces(const analysis::DimAccess& dim);
  llvm::SmallVector<ElementRange, 2> wrapped(Interval places, const analysis::ScalarExpr& wrap);
  llvm::SmallVector<ElementRange, 2> clamped(Interval places, const analysis::ScalarExpr& limit);
  mlir::Value constant(int64_t value);

  mlir::Operation* place_;
  mlir::OpBuilder builder_;
  mlir::Location where_;
};

}  // namespace tandem::transform::gpu
