// Each function here handles a family of ops: it derives facts of the results from facts of the operands, and returns
// nothing for ops of other families. Operands and results are tracked (axis_lattice.h). Control flow is not known here.
#pragma once
#include "compiler/analysis/axis_lattice.h"
#include <llvm/ADT/STLExtras.h>

namespace tandem::analysis {

using Lookup = llvm::function_ref<const AxisInfo&(mlir::Value)>;

std::optional<AxisInfo> sumInfo(mlir::Operation* op, Lookup of);       // +, -, *, shift left, min, max
std::optional<AxisInfo> divisionInfo(mlir::Operation* op, Lookup of);  // /, %, shift right, and, or, xor
std::optional<AxisInfo> choiceInfo(mlir::Operation* op, Lookup of);    // comparison, select
std::optional<AxisInfo> sourceInfo(mlir::Operation* op,
                                   Lookup of);  // constants, ranges, program and rank numbers, integer casts
std::optional<AxisInfo> shapeInfo(mlir::Operation* op, Lookup of);    // splat, broadcast, reshape, ...
std::optional<AxisInfo> pointerInfo(mlir::Operation* op, Lookup of);  // addptr, pointer casts, addresses on other ranks

// `rule` gives a dimension of the result from the same dimension of both operands.
template <typename DimRule>
AxisInfo eachDim(const AxisInfo& l, const AxisInfo& r, bool nonNegative, DimRule rule) {
  AxisInfo info;
  info.dims.clear();
  for (auto [x, y] : llvm::zip_equal(l.dims, r.dims)) info.dims.push_back(rule(x, y));
  info.nonNegative = nonNegative;
  return info;
}

// The constant an integer op gives for constants; nothing where it has none (division by zero).
std::optional<int64_t> foldIntegers(mlir::Operation* op, int64_t lhs, int64_t rhs);
unsigned integerWidth(mlir::Type type);

}  // namespace tandem::analysis
