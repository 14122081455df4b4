// Comparisons, above all the masks of the last tile, and the choice between two values.
#include "compiler/analysis/axis_transfer.h"
#include <mlir/Dialect/Arith/IR/Arith.h>

namespace tandem::analysis {
using namespace mlir;
using arith::CmpIPredicate;

// The answer along consecutive values changes only at the limit itself: `value < limit` and `value >= limit`.
static bool changesAtLimit(CmpIPredicate predicate) {
  return llvm::is_contained({CmpIPredicate::slt, CmpIPredicate::ult, CmpIPredicate::sge, CmpIPredicate::uge},
                            predicate);
}

// The same for `limit > value` and `limit <= value`.
static bool changesAtLimitOnLeft(CmpIPredicate predicate) {
  return llvm::is_contained({CmpIPredicate::sgt, CmpIPredicate::ugt, CmpIPredicate::sle, CmpIPredicate::ule},
                            predicate);
}

static int64_t unchangedRun(const DimInfo& value, const DimInfo& limit) {
  return std::min({value.contiguity, value.divisibility, limit.constancy, startDivisibility(limit, 1)});
}

static AxisInfo compared(CmpIPredicate predicate, const AxisInfo& l, const AxisInfo& r) {
  return eachDim(l, r, false, [&](const DimInfo& x, const DimInfo& y) {
    int64_t constancy = std::min(x.constancy, y.constancy);
    if (changesAtLimit(predicate)) constancy = std::max(constancy, unchangedRun(x, y));
    if (changesAtLimitOnLeft(predicate)) constancy = std::max(constancy, unchangedRun(y, x));
    return DimInfo{1, 1, constancy};
  });
}

static AxisInfo selected(arith::SelectOp op, Lookup of) {
  Type type = op.getType();
  const AxisInfo& condition = of(op.getCondition());
  if (condition.constant) return of(*condition.constant ? op.getTrueValue() : op.getFalseValue());
  AxisInfo info = joined(of(op.getTrueValue()), of(op.getFalseValue()), type);
  if (!isa<ShapedType>(op.getCondition().getType())) return info;
  for (auto [dim, choice] : llvm::zip_equal(info.dims, condition.dims)) {
    dim = withRuns(dim, std::min(dim.contiguity, choice.constancy), unitOf(type));
    dim.constancy = std::min(dim.constancy, choice.constancy);
  }
  return info;
}

std::optional<AxisInfo> choiceInfo(Operation* op, Lookup of) {
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return compared(compare.getPredicate(), of(compare.getLhs()), of(compare.getRhs()));
  if (auto select = dyn_cast<arith::SelectOp>(op)) return selected(select, of);
  return std::nullopt;
}

}  // namespace tandem::analysis
