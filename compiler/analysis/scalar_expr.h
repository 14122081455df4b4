// A ScalarExpr is a sum of products of scalar integers, multiplied out, so that equal sums compare equal and terms that
// cancel are gone. Integer arithmetic is taken not to overflow; sign extensions are seen through.
#pragma once
#include "compiler/analysis/axis_info.h"
#include <llvm/ADT/ArrayRef.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/IR/Builders.h>
#include <vector>

namespace tandem::analysis {

class ScalarExpr {
 public:
  // factor * the product of symbols, which are scalar integers or indices.
  struct Term {
    llvm::SmallVector<mlir::Value, 2> symbols;
    int64_t factor;
  };

  ScalarExpr() = default;  // zero
  ScalarExpr(int64_t constant);
  static ScalarExpr symbol(mlir::Value value);
  // The scalar integer `value`, followed through arithmetic that has a sum of products.
  static ScalarExpr of(mlir::Value value);

  llvm::ArrayRef<Term> terms() const { return terms_; }
  bool isZero() const { return terms_.empty(); }
  std::optional<int64_t> constant() const;
  // Every symbol is an argument of the function around it, so that the host can compute the value before a launch.
  bool isOfArguments() const;
  // No symbol is made inside `loop`.
  bool isInvariant(mlir::Operation* loop) const;
  bool isNonNegative(const AxisInfoAnalysis& axes) const;

  // this / divisor when the division leaves nothing over; `divisor` has one term.
  std::optional<ScalarExpr> dividedBy(const ScalarExpr& divisor) const;

  // Ops that compute the value as the integer type `type`.
  mlir::Value build(mlir::OpBuilder& builder, mlir::Location where, mlir::Type type) const;

  friend ScalarExpr operator+(const ScalarExpr& a, const ScalarExpr& b);
  friend ScalarExpr operator-(const ScalarExpr& a, const ScalarExpr& b);
  friend ScalarExpr operator*(const ScalarExpr& a, const ScalarExpr& b);
  friend bool operator==(const ScalarExpr& a, const ScalarExpr& b) { return (a - b).isZero(); }

 private:
  void add(const Term& term);
  std::vector<Term> terms_;  // in the order they came; no two of the same symbols, no factor zero
};

}  // namespace tandem::analysis
