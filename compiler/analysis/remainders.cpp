// Arithmetic modulo powers of two, which sums and products that overflow keep.
#include "compiler/analysis/remainders.h"
#include "compiler/dialect/tile/tile.h"
#include <algorithm>
#include <llvm/ADT/TypeSwitch.h>
#include <llvm/Support/MathExtras.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/IR/Matchers.h>
#include <mlir/IR/TypeUtilities.h>

namespace tandem::analysis {
using namespace mlir;
namespace {

constexpr int kMostDepth = 16;
constexpr uint64_t kLargest = uint64_t(1) << 31;  // below the range of all integers

Remainder normal(uint64_t divisor, uint64_t rest) { return {divisor, rest & (divisor - 1)}; }

Remainder sum(Remainder a, Remainder b) { return normal(std::min(a.divisor, b.divisor), a.rest + b.rest); }

// (d i + r) (e j + s) = d e i j + d i s + e j r + r s.
Remainder product(Remainder a, Remainder b) {
  auto powerIn = [](uint64_t n) { return n ? n & (~n + 1) : kLargest; };
  auto times = [](uint64_t x, uint64_t y) { return x >= kLargest / y ? kLargest : x * y; };
  uint64_t divisor =
      std::min({times(a.divisor, b.divisor), times(a.divisor, powerIn(b.rest)), times(b.divisor, powerIn(a.rest))});
  return normal(divisor, a.rest * b.rest);
}

Remainder of(Value value, int depth) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant))) return normal(kLargest, constant.getSExtValue());
  Operation* op = value.getDefiningOp();
  if (!op || depth == kMostDepth) return {};
  auto operand = [&](unsigned i) { return of(op->getOperand(i), depth + 1); };
  return llvm::TypeSwitch<Operation*, Remainder>(op)
      .Case<arith::AddIOp>([&](auto) { return sum(operand(0), operand(1)); })
      .Case<arith::SubIOp>([&](auto) { return sum(operand(0), product(operand(1), normal(kLargest, -1))); })
      .Case<arith::MulIOp>([&](auto) { return product(operand(0), operand(1)); })
      .Case<arith::ShLIOp>([&](auto) {
        Remainder by = operand(1);
        return by.divisor == kLargest && by.rest < 31 ? product(operand(0), normal(kLargest, uint64_t(1) << by.rest))
                                                      : Remainder();
      })
      .Case<arith::ExtSIOp, arith::ExtUIOp, tile::SplatOp, tile::BroadcastOp, tile::ExpandDimsOp>(
          [&](auto) { return operand(0); })
      .Default([](Operation*) { return Remainder(); });
}

// The elements between a pointer and where it comes from.
struct Place {
  Value base;
  Remainder offset;
};

Place placeOf(Value pointer) {
  Place place{pointer, {kLargest, 0}};
  while (Operation* op = place.base.getDefiningOp()) {
    if (auto moved = dyn_cast<tile::AddPtrOp>(op))
      place.offset = sum(place.offset, remainderOf(moved.getOffset()));
    else if (!isa<tile::SplatOp, tile::BroadcastOp, tile::ExpandDimsOp>(op))
      break;
    place.base = op->getOperand(0);
  }
  return place;
}

}  // namespace

Remainder remainderOf(Value value) { return of(value, 0); }

bool areInterleaved(Value one, Value other) {
  if (getElementTypeOrSelf(one.getType()) != getElementTypeOrSelf(other.getType())) return false;
  Place a = placeOf(one), b = placeOf(other);
  uint64_t divisor = std::min(a.offset.divisor, b.offset.divisor);
  return a.base == b.base && ((a.offset.rest ^ b.offset.rest) & (divisor - 1));
}

}  // namespace tandem::analysis
