// Integer ops on constants.
#include "compiler/analysis/axis_transfer.h"
#include <llvm/ADT/TypeSwitch.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/CommonFolders.h>
#include <mlir/IR/TypeUtilities.h>

namespace tandem::analysis {
using namespace mlir;

unsigned integerWidth(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isInteger() ? element.getIntOrFloatBitWidth() : 64;
}

using Folded = std::optional<APInt>;

static Folded foldDivision(Operation* op, const APInt& a, const APInt& b) {
  if (b.isZero() || (a.isMinSignedValue() && b.isAllOnes())) return std::nullopt;
  return llvm::TypeSwitch<Operation*, Folded>(op)
      .Case<arith::DivSIOp>([&](auto) { return a.sdiv(b); })
      .Case<arith::DivUIOp>([&](auto) { return a.udiv(b); })
      .Case<arith::RemSIOp>([&](auto) { return a.srem(b); })
      .Case<arith::RemUIOp>([&](auto) { return a.urem(b); })
      .Default([](Operation*) { return Folded(); });
}

static Folded foldShift(Operation* op, const APInt& a, const APInt& b) {
  if (b.uge(a.getBitWidth())) return std::nullopt;
  return llvm::TypeSwitch<Operation*, Folded>(op)
      .Case<arith::ShLIOp>([&](auto) { return a.shl(b); })
      .Case<arith::ShRSIOp>([&](auto) { return a.ashr(b); })
      .Case<arith::ShRUIOp>([&](auto) { return a.lshr(b); })
      .Default([](Operation*) { return Folded(); });
}

static Folded foldAny(Operation* op, const APInt& a, const APInt& b) {
  return llvm::TypeSwitch<Operation*, Folded>(op)
      .Case<arith::AddIOp>([&](auto) { return a + b; })
      .Case<arith::SubIOp>([&](auto) { return a - b; })
      .Case<arith::MulIOp>([&](auto) { return a * b; })
      .Case<arith::AndIOp>([&](auto) { return a & b; })
      .Case<arith::OrIOp>([&](auto) { return a | b; })
      .Case<arith::XOrIOp>([&](auto) { return a ^ b; })
      .Case<arith::MinSIOp>([&](auto) { return a.slt(b) ? a : b; })
      .Case<arith::MaxSIOp>([&](auto) { return a.sgt(b) ? a : b; })
      .Case<arith::MinUIOp>([&](auto) { return a.ult(b) ? a : b; })
      .Case<arith::MaxUIOp>([&](auto) { return a.ugt(b) ? a : b; })
      .Case<arith::CmpIOp>(
          [&](arith::CmpIOp cmp) { return APInt(1, arith::applyCmpPredicate(cmp.getPredicate(), a, b)); })
      .Case<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(
          [&](auto) { return foldDivision(op, a, b); })
      .Case<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>([&](auto) { return foldShift(op, a, b); })
      .Default([](Operation*) { return Folded(); });
}

std::optional<int64_t> foldIntegers(Operation* op, int64_t lhs, int64_t rhs) {
  unsigned width = integerWidth(op->getOperand(0).getType());
  if (width > 64) return std::nullopt;
  Folded result = foldAny(op, APInt(width, lhs, true, true), APInt(width, rhs, true, true));
  return result ? std::optional(result->getSExtValue()) : std::nullopt;
}

}  // namespace tandem::analysis
