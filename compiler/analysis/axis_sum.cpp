// Sums, products and extremes.
#include "compiler/analysis/axis_transfer.h"
#include <llvm/ADT/TypeSwitch.h>
#include <mlir/Dialect/Arith/IR/Arith.h>

namespace tandem::analysis {
using namespace mlir;

// Consecutive values plus a value that is the same all along the run are consecutive.
static DimInfo plus(const DimInfo& l, const DimInfo& r) {
  int64_t run = std::max(std::min(l.contiguity, r.constancy), std::min(l.constancy, r.contiguity));
  return {run, std::min(startDivisibility(l, run), startDivisibility(r, run)), std::min(l.constancy, r.constancy)};
}

static DimInfo minus(const DimInfo& l, const DimInfo& r) {
  int64_t run = std::min(l.contiguity, r.constancy);
  return {run, std::min(startDivisibility(l, run), startDivisibility(r, run)), std::min(l.constancy, r.constancy)};
}

static DimInfo times(const DimInfo& l, const DimInfo& r) {
  return {1, timesPowers(startDivisibility(l, 1), startDivisibility(r, 1)), std::min(l.constancy, r.constancy)};
}

static DimInfo extreme(const DimInfo& l, const DimInfo& r) {
  return {1, std::min(startDivisibility(l, 1), startDivisibility(r, 1)), std::min(l.constancy, r.constancy)};
}

static AxisInfo product(const AxisInfo& l, const AxisInfo& r) {
  if (l.constant == 1) return r;
  if (r.constant == 1) return l;
  return eachDim(l, r, l.nonNegative && r.nonNegative, times);
}

static AxisInfo shiftLeft(const AxisInfo& l, const AxisInfo& r, Type type) {
  if (r.constant == 0) return l;
  int64_t amount = r.constant.value_or(-1);
  if (amount < 0 || amount > 61)
    return eachDim(l, r, false, [](const DimInfo& x, const DimInfo& y) {
      return DimInfo{1, startDivisibility(x, 1), std::min(x.constancy, y.constancy)};
    });
  return eachDim(l, constantInfo(type, int64_t(1) << amount), l.nonNegative, times);
}

// Returns true if `op` takes from a value its whole multiple of a constant, x - x / c * c: what is left has x's sign.
static bool isRemainder(arith::SubIOp op, Lookup of) {
  auto whole = op.getRhs().getDefiningOp<arith::MulIOp>();
  if (!whole) return false;
  auto leaves = [&](Value quotient, Value factor) {
    auto divided = quotient.getDefiningOp<arith::DivSIOp>();
    std::optional<int64_t> c = of(factor).constant;
    return divided && c && divided.getLhs() == op.getLhs() && of(divided.getRhs()).constant == c;
  };
  return leaves(whole.getLhs(), whole.getRhs()) || leaves(whole.getRhs(), whole.getLhs());
}

std::optional<AxisInfo> sumInfo(Operation* op, Lookup of) {
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::ShLIOp, arith::MinSIOp, arith::MaxSIOp, arith::MinUIOp,
           arith::MaxUIOp>(op))
    return std::nullopt;
  const AxisInfo &l = of(op->getOperand(0)), &r = of(op->getOperand(1));
  bool both = l.nonNegative && r.nonNegative, either = l.nonNegative || r.nonNegative;
  return llvm::TypeSwitch<Operation*, AxisInfo>(op)
      .Case<arith::AddIOp>([&](auto) { return eachDim(l, r, both, plus); })
      .Case<arith::SubIOp>([&](auto sub) { return eachDim(l, r, l.nonNegative && isRemainder(sub, of), minus); })
      .Case<arith::MulIOp>([&](auto) { return product(l, r); })
      .Case<arith::ShLIOp>([&](auto) { return shiftLeft(l, r, op->getResult(0).getType()); })
      .Case<arith::MaxSIOp, arith::MinUIOp>([&](auto) { return eachDim(l, r, either, extreme); })
      .Default([&](Operation*) { return eachDim(l, r, both, extreme); });
}

}  // namespace tandem::analysis
