// The reader takes the values of a kernel as a base and a sum over dimensions of scalar * index: scalars (no
// dimension), tiles of integers, tiles of pointers, and those that loops carry. It knows nothing of masks.
#pragma once
#include "compiler/analysis/scalar_expr.h"

namespace tandem::analysis {

// stride * (offset + index), or stride * ((offset + index) mod wrap); both sums are then non-negative. With `clamps` an
// index that is not below `wrap` becomes 0, or wrap - 1.
struct AffineDim {
  ScalarExpr stride;
  ScalarExpr offset;
  std::optional<ScalarExpr> wrap;
  bool clamps = false;
};

// base (for pointers) + rest + the sum of the dimensions that have an AffineDim.
struct AffineTile {
  mlir::Value base;
  ScalarExpr rest;
  llvm::SmallVector<std::optional<AffineDim>, 3> dims;
  llvm::SmallVector<int64_t, 3> shape;

  bool isUniform() const;                   // the same value at every index
  std::optional<unsigned> onlyDim() const;  // when one dimension alone matters
};

class AffineReader {
 public:
  // Without `axes` no value is known to be non-negative, so that fewer are read.
  explicit AffineReader(const AxisInfoAnalysis* axes = nullptr) : axes_(axes) { scopes_.emplace_back(); }

  // Integers and pointers that are scalars always have a reading: at worst as a symbol or a base of their own.
  ScalarExpr scalar(mlir::Value value);
  std::optional<AffineTile> read(mlir::Value value);

 private:
  using Reading = std::optional<AffineTile>;
  // Readings made while some loop-carried values stood for themselves.
  struct Scope {
    mlir::Value carried;
    llvm::DenseMap<mlir::Value, Reading> known;
  };

  Reading readNew(mlir::Value value);
  Reading readOp(mlir::Operation* op);
  Reading readArithmetic(mlir::Operation* op);
  Reading readShape(mlir::Operation* op);
  Reading readRemainder(mlir::Operation* op);
  Reading readChoice(mlir::arith::SelectOp choice);
  Reading clamped(mlir::Value index, Reading limit, int64_t more);
  Reading readCarried(mlir::BlockArgument argument);
  std::optional<ScalarExpr> stepOf(mlir::BlockArgument carried, mlir::scf::ForOp loop);
  Reading itself(mlir::Value value) const;
  bool isCarried(mlir::Value value) const;
  bool isNonNegative(mlir::Value value) const { return axes_ && axes_->of(value).nonNegative; }

  const AxisInfoAnalysis* axes_;
  std::vector<Scope> scopes_;
  unsigned depth_ = 0;
};

}  // namespace tandem::analysis
