// This file handles quotients, remainders and their forms with shifts and masks. Divisors are taken to be positive:
// they are sizes.
#include "compiler/analysis/axis_transfer.h"
#include <llvm/ADT/TypeSwitch.h>
#include <mlir/Dialect/Arith/IR/Arith.h>

namespace tandem::analysis {
using namespace mlir;

namespace {

bool isPowerOfTwo(std::optional<int64_t> value) { return value && *value > 0 && powerOfTwoIn(*value) == *value; }

// The longest run of consecutive dividends, starting at a multiple of its length, that no multiple of the divisor cuts
// in two.
int64_t uncutRun(const DimInfo& dividend, const DimInfo& divisor) {
  return std::min({dividend.contiguity, dividend.divisibility, divisor.constancy, startDivisibility(divisor, 1)});
}

// `towardZero`: values just below zero share the quotient of those above, so nothing is known of runs that may be
// negative.
AxisInfo quotient(const AxisInfo& l, const AxisInfo& r, bool towardZero) {
  if (r.constant == 1) return l;
  bool runsKept = !towardZero || l.nonNegative;
  bool nonNegative = l.nonNegative && r.constant.value_or(1) > 0;
  return eachDim(l, r, nonNegative, [&](const DimInfo& x, const DimInfo& y) {
    int64_t constancy = std::max(std::min(x.constancy, y.constancy), runsKept ? uncutRun(x, y) : 1);
    int64_t start = startDivisibility(x, constancy);
    bool exact = isPowerOfTwo(r.constant) && start >= *r.constant;
    return DimInfo{1, exact ? start / *r.constant : 1, constancy};
  });
}

AxisInfo remainder(const AxisInfo& l, const AxisInfo& r, Type type, bool isSigned) {
  if (r.constant == 1) return constantInfo(type, 0);
  bool runsKept = !isSigned || l.nonNegative;
  return eachDim(l, r, l.nonNegative, [&](const DimInfo& x, const DimInfo& y) {
    int64_t run = runsKept ? uncutRun(x, y) : 1;
    return DimInfo{run, std::min(startDivisibility(x, run), startDivisibility(y, 1)),
                   std::min(x.constancy, y.constancy)};
  });
}

// Keeps the bits at and above one bit: like rounding down to a multiple.
AxisInfo roundedDown(const AxisInfo& l, int64_t multiple) {
  AxisInfo info = l;
  for (DimInfo& dim : info.dims) {
    int64_t constancy = std::max(dim.constancy, std::min({dim.contiguity, dim.divisibility, multiple}));
    dim = {1, std::max(startDivisibility(dim, constancy), multiple), constancy};
  }
  info.constant.reset();
  return info;
}

AxisInfo conjunction(const AxisInfo& l, const AxisInfo& r, Type type) {
  if (l.constant && !r.constant) return conjunction(r, l, type);
  if (r.constant == -1) return l;
  if (r.constant && *r.constant < 0 && powerOfTwoIn(*r.constant) == -*r.constant) return roundedDown(l, -*r.constant);
  bool nonNegative = l.nonNegative || r.nonNegative;
  if (r.constant && *r.constant >= 0 && isPowerOfTwo(*r.constant + 1)) {
    AxisInfo info = remainder(l, constantInfo(type, *r.constant + 1), type, false);
    info.nonNegative = nonNegative;
    return info;
  }
  return eachDim(l, r, nonNegative, [](const DimInfo& x, const DimInfo& y) {
    return DimInfo{1, std::max(startDivisibility(x, 1), startDivisibility(y, 1)), std::min(x.constancy, y.constancy)};
  });
}

AxisInfo disjunction(const AxisInfo& l, const AxisInfo& r) {
  if (r.constant == 0) return l;
  if (l.constant == 0) return r;
  return eachDim(l, r, l.nonNegative && r.nonNegative, [](const DimInfo& x, const DimInfo& y) {
    return DimInfo{1, std::min(startDivisibility(x, 1), startDivisibility(y, 1)), std::min(x.constancy, y.constancy)};
  });
}

AxisInfo shiftRight(const AxisInfo& l, const AxisInfo& r, Type type) {
  if (r.constant == 0) return l;
  int64_t amount = r.constant.value_or(-1);
  if (amount >= 0 && amount < std::min(62u, integerWidth(type) - 1))
    return quotient(l, constantInfo(type, int64_t(1) << amount), false);
  return eachDim(l, r, l.nonNegative,
                 [](const DimInfo& x, const DimInfo& y) { return DimInfo{1, 1, std::min(x.constancy, y.constancy)}; });
}

}  // namespace

std::optional<AxisInfo> divisionInfo(Operation* op, Lookup of) {
  if (!isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp, arith::RemSIOp, arith::RemUIOp, arith::AndIOp,
           arith::OrIOp, arith::XOrIOp, arith::ShRSIOp, arith::ShRUIOp>(op))
    return std::nullopt;
  const AxisInfo &l = of(op->getOperand(0)), &r = of(op->getOperand(1));
  Type type = op->getResult(0).getType();
  return llvm::TypeSwitch<Operation*, AxisInfo>(op)
      .Case<arith::DivSIOp>([&](auto) { return quotient(l, r, true); })
      .Case<arith::DivUIOp, arith::FloorDivSIOp>([&](auto) { return quotient(l, r, false); })
      .Case<arith::RemSIOp>([&](auto) { return remainder(l, r, type, true); })
      .Case<arith::RemUIOp>([&](auto) { return remainder(l, r, type, false); })
      .Case<arith::AndIOp>([&](auto) { return conjunction(l, r, type); })
      .Case<arith::ShRSIOp, arith::ShRUIOp>([&](auto) { return shiftRight(l, r, type); })
      .Default([&](Operation*) { return disjunction(l, r); });
}

}  // namespace tandem::analysis
