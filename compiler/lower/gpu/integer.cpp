// Integer ops whose meaning LLVM leaves open for some operands (division, shifts, conversions of floats), and those of
// two results.
#include "compiler/lower/gpu/integer.h"
#include "compiler/lower/gpu/float_convert.h"
#include "compiler/lower/gpu/small_integer.h"
#include <llvm/ADT/TypeSwitch.h>
#include <llvm/Analysis/ValueTracking.h>

namespace tandem::lower::gpu {
using namespace mlir;
namespace {

// A divisor of zero gives all ones and the dividend as remainder; -1 negates, the one case in which a quotient may not
// fit. LLVM's ops leave these open, so that divisors are kept from them.
struct Division {
  Division(llvm::IRBuilder<>& b, llvm::Value* x, llvm::Value* y, bool isSigned, bool isTile)
      : b_(b), x_(x), y_(y), isSigned_(isSigned), isTile_(isTile) {
    isZero_ = b.CreateICmpEQ(y, number(0));
    isMinusOne_ = isSigned ? b.CreateICmpEQ(y, number(-1)) : b.getFalse();
    divisor_ = b.CreateSelect(b.CreateOr(isZero_, isMinusOne_), number(1), y);
  }
  // Of a tile, each element pays one multiply-add: the factor and the summand depend on the divisor alone, and LLVM
  // computes them once where all elements have the same one. A single number selects, which needs fewer registers.
  llvm::Value* quotient() {
    llvm::Value* q = isSigned_ ? b_.CreateSDiv(x_, divisor_) : b_.CreateUDiv(x_, divisor_);
    if (!isTile_) return select(isZero_, number(-1), select(isMinusOne_, b_.CreateNeg(x_), q));
    llvm::Value* factor = select(isZero_, number(0), select(isMinusOne_, number(-1), number(1)));
    return b_.CreateAdd(b_.CreateMul(q, factor), b_.CreateSExt(isZero_, x_->getType()));
  }
  llvm::Value* remainder() {
    return select(isZero_, x_, isSigned_ ? b_.CreateSRem(x_, divisor_) : b_.CreateURem(x_, divisor_));
  }
  // Returns the quotient rounded up or down: one more or less where there is a remainder and the signs of both sides
  // are the same (up) or differ (down).
  llvm::Value* rounded(bool up) {
    llvm::Value* rest = isSigned_ ? b_.CreateSRem(x_, divisor_) : b_.CreateURem(x_, divisor_);
    llvm::Value* moves = b_.CreateAnd(b_.CreateICmpNE(rest, number(0)), b_.CreateNot(isZero_));
    if (isSigned_) {
      llvm::Value* alike = b_.CreateICmpSGE(b_.CreateXor(x_, y_), number(0));
      moves = b_.CreateAnd(moves, up ? alike : b_.CreateNot(alike));
    }
    return b_.CreateAdd(quotient(), select(moves, number(up ? 1 : -1), number(0)));
  }

 private:
  llvm::Value* number(int64_t n) { return llvm::ConstantInt::getSigned(x_->getType(), n); }
  llvm::Value* select(llvm::Value* c, llvm::Value* a, llvm::Value* b) { return b_.CreateSelect(c, a, b); }

  llvm::IRBuilder<>& b_;
  llvm::Value *x_, *y_, *isZero_ = nullptr, *isMinusOne_ = nullptr, *divisor_ = nullptr;
  bool isSigned_, isTile_;
};

// A count of the width or more shifts everything out.
llvm::Value* shift(llvm::IRBuilder<>& b, Operation* op, llvm::Value* x, llvm::Value* count) {
  llvm::Type* type = x->getType();
  unsigned bits = type->getIntegerBitWidth();
  llvm::Value *last = llvm::ConstantInt::get(type, bits - 1), *nothing = llvm::ConstantInt::get(type, 0);
  auto* known = llvm::dyn_cast<llvm::ConstantInt>(count);
  bool isWithin = known && known->getValue().ult(bits);
  llvm::Value* limited = isWithin ? count : b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, count, last);
  if (isa<arith::ShRSIOp>(op)) return b.CreateAShr(x, limited);
  llvm::Value* shifted = isa<arith::ShLIOp>(op) ? b.CreateShl(x, limited) : b.CreateLShr(x, limited);
  return isWithin ? shifted : b.CreateSelect(b.CreateICmpULE(count, last), shifted, nothing);
}

// The upper half of the double-width product.
llvm::Value* upperProduct(llvm::IRBuilder<>& b, llvm::Value* x, llvm::Value* y, bool isSigned) {
  unsigned bits = x->getType()->getIntegerBitWidth();
  llvm::Type* wide = b.getIntNTy(2 * bits);
  auto widen = [&](llvm::Value* v) { return isSigned ? b.CreateSExt(v, wide) : b.CreateZExt(v, wide); };
  return b.CreateTrunc(b.CreateLShr(b.CreateMul(widen(x), widen(y)), bits), x->getType());
}

// Returns true if both halves of the product are used: the other op, with the same operands, is beside this one.
template <class Other>
bool isHalf(Operation* op) {
  if (!getElementTypeOrSelf(op->getResult(0).getType()).isInteger(32)) return false;
  return llvm::any_of(op->getOperand(0).getUsers(), [&](Operation* user) {
    return isa<Other>(user) && user->getBlock() == op->getBlock() &&
           llvm::equal(user->getOperands(), op->getOperands());
  });
}

// A float of which every narrower format rounds as the integer would.
llvm::Value* integerToOddFloat(KernelContext& cx, llvm::Value* x, bool isSigned) {
  llvm::IRBuilder<>& b = cx.b;
  llvm::Type* held = x->getType()->getIntegerBitWidth() > 32 ? b.getInt64Ty() : b.getInt32Ty();
  x = isSigned ? b.CreateSExt(x, held) : b.CreateZExt(x, held);
  llvm::Value* cut = cx.emit.integerToFloat(x, isSigned);
  llvm::Value* isInexact = b.CreateICmpNE(cx.emit.floatToInteger(cut, held, isSigned), x);
  llvm::Value* bits = b.CreateOr(b.CreateBitCast(cut, b.getInt32Ty()), b.CreateZExt(isInexact, b.getInt32Ty()));
  return b.CreateBitCast(bits, b.getFloatTy());
}

}  // namespace

// Returns the quotient and the remainder by the target's own instructions where the divisor is a variable; nothing where
// LLVM divides better.
static std::optional<std::pair<llvm::Value*, llvm::Value*>> dividedByVariable(KernelContext& cx, Operation* op,
                                                                              Scalars v, bool isSigned) {
  if (isa<llvm::Constant>(v[1])) return std::nullopt;
  llvm::Type* held = v[0]->getType()->getIntegerBitWidth() > 32 ? cx.b.getInt64Ty() : cx.b.getInt32Ty();
  if (!cx.emit.hasDivision(held->getIntegerBitWidth())) return std::nullopt;
  auto hold = [&](llvm::Value* x) { return isSigned ? cx.b.CreateSExt(x, held) : cx.b.CreateZExt(x, held); };
  auto [quotient, remainder] = cx.emit.divide(hold(v[0]), hold(v[1]), isSigned);
  return std::pair(cx.b.CreateTrunc(quotient, v[0]->getType()), cx.b.CreateTrunc(remainder, v[0]->getType()));
}

llvm::Value* integerOp(KernelContext& cx, Operation* op, Scalars v) {
  bool isTile = isa<ShapedType>(op->getResult(0).getType());
  if (isa<arith::DivSIOp, arith::RemSIOp, arith::DivUIOp, arith::RemUIOp>(op))
    if (auto parts = dividedByVariable(cx, op, v, isa<arith::DivSIOp, arith::RemSIOp>(op)))
      return isa<arith::DivSIOp, arith::DivUIOp>(op) ? parts->first : parts->second;
  auto division = [&](bool isSigned) { return Division(cx.b, v[0], v[1], isSigned, isTile); };
  return llvm::TypeSwitch<Operation*, llvm::Value*>(op)
      .Case<arith::DivSIOp>([&](auto) { return division(true).quotient(); })
      .Case<arith::DivUIOp>([&](auto) { return division(false).quotient(); })
      .Case<arith::RemSIOp>([&](auto) { return division(true).remainder(); })
      .Case<arith::RemUIOp>([&](auto) { return division(false).remainder(); })
      .Case<arith::CeilDivSIOp>([&](auto) { return division(true).rounded(true); })
      .Case<arith::FloorDivSIOp>([&](auto) { return division(true).rounded(false); })
      .Case<arith::CeilDivUIOp>([&](auto) { return division(false).rounded(true); })
      .Case<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>([&](auto o) { return shift(cx.b, o, v[0], v[1]); })
      .Case<tile::MulHiUIOp>([&](auto o) -> llvm::Value* {
        if (!isHalf<arith::MulIOp>(o)) return upperProduct(cx.b, v[0], v[1], false);
        return cx.b.CreateTrunc(cx.b.CreateLShr(cx.emit.multiplyWide(v[0], v[1]), 32), v[0]->getType());
      })
      .Case<arith::MulIOp>([&](auto o) -> llvm::Value* {
        return isHalf<tile::MulHiUIOp>(o) ? cx.b.CreateTrunc(cx.emit.multiplyWide(v[0], v[1]), v[0]->getType())
                                          : nullptr;
      })
      .Default([](Operation*) { return nullptr; });
}

void lowerExtended(KernelContext& cx, Operation* op) {
  Regs low, high;
  size_t count = std::max(cx.use(op->getOperand(0)).size(), cx.use(op->getOperand(1)).size());
  for (size_t r = 0; r < count; ++r) {
    llvm::Value *x = cx.pick(op->getOperand(0), r), *y = cx.pick(op->getOperand(1), r);
    if (isa<arith::AddUIExtendedOp>(op)) {
      low.push_back(cx.b.CreateAdd(x, y));
      high.push_back(cx.b.CreateICmpULT(low.back(), x));
    } else {
      low.push_back(cx.b.CreateMul(x, y));
      high.push_back(upperProduct(cx.b, x, y, isa<arith::MulSIExtendedOp>(op)));
    }
  }
  cx.define(op->getResult(0), low);
  cx.define(op->getResult(1), high);
}

// Returns true if float32 holds the integer as it is, by its type or by what it is computed of: rounding the float again
// is the only rounding.
static bool isExactFloat(KernelContext& cx, llvm::Value* x, bool isSigned) {
  constexpr unsigned kSignificant = 24;
  const llvm::DataLayout& layout = cx.module.getDataLayout();
  unsigned bits = x->getType()->getIntegerBitWidth();
  return isSigned ? bits - llvm::ComputeNumSignBits(x, layout) <= kSignificant
                  : llvm::computeKnownBits(x, layout).countMaxActiveBits() <= kSignificant;
}

// Integers of 32 bits are converted by a quicker instruction than variables of 8 and of 16 bits, to which LLVM would narrow them again.
static bool isShort(llvm::Value* x) {
  unsigned bits = x->getType()->getIntegerBitWidth();
  return bits >= 8 && bits < 32 && !llvm::isa<llvm::Constant>(x);
}

void lowerIntegerToFloat(KernelContext& cx, Operation* op) {
  mlir::Type to = getElementTypeOrSelf(op->getResult(0).getType()), single = Float32Type::get(op->getContext());
  bool isSigned = isa<arith::SIToFPOp>(op);
  Regs integers(cx.use(op->getOperand(0))), floats;
  if (to.isF16() || to.isBF16()) floats = smallToNarrow(cx, integers, isSigned, cx.typeOf(to));
  if (!floats.empty()) return cx.define(op->getResult(0), std::move(floats));
  bool isExact = llvm::all_of(integers, [&](llvm::Value* x) { return isExactFloat(cx, x, isSigned); });
  // LLVM converts to some types; narrower ones are made of float32, two at once.
  mlir::Type direct = to.isF64() || to.isF32() ? to : isExact ? single : to.isF16() ? to : nullptr;
  auto convert = [&](llvm::Value* x) -> llvm::Value* {
    if (!direct) return integerToOddFloat(cx, x, isSigned);
    llvm::Type *type = cx.typeOf(direct), *held = cx.b.getInt32Ty();
    if (!type->isFloatTy() || !isShort(x)) return isSigned ? cx.b.CreateSIToFP(x, type) : cx.b.CreateUIToFP(x, type);
    return cx.emit.integerToFloat(isSigned ? cx.b.CreateSExt(x, held) : cx.b.CreateZExt(x, held), isSigned);
  };
  for (llvm::Value* x : integers) floats.push_back(convert(x));
  cx.define(op->getResult(0), direct == to ? floats : convertFloats(cx, floats, single, to, false));
}

// Rounds towards zero; a value that does not fit becomes the nearest number that does, and NaN becomes zero.
llvm::Value* floatToInteger(KernelContext& cx, Operation* op, llvm::Value* x) {
  namespace I = llvm::Intrinsic;
  bool isSigned = isa<arith::FPToSIOp>(op);
  x = toFloat(cx, x, getElementTypeOrSelf(op->getOperand(0).getType()));
  llvm::Type* to = cx.typeOf(op->getResult(0).getType());
  bool isDouble = x->getType()->isDoubleTy(), isWide = to->getIntegerBitWidth() > 32;
  llvm::Type* held = isWide ? cx.b.getInt64Ty() : cx.b.getInt32Ty();
  llvm::Value* whole = cx.emit.floatToInteger(x, held, isSigned);
  if (isDouble || isWide) whole = cx.b.CreateSelect(cx.b.CreateFCmpUNO(x, x), llvm::ConstantInt::get(held, 0), whole);
  if (held == to) return whole;
  unsigned bits = to->getIntegerBitWidth(), heldBits = held->getIntegerBitWidth();
  auto limit = [&](const llvm::APInt& n) {
    return llvm::ConstantInt::get(held, isSigned ? n.sext(heldBits) : n.zext(heldBits));
  };
  if (isSigned) whole = cx.b.CreateBinaryIntrinsic(I::smax, whole, limit(llvm::APInt::getSignedMinValue(bits)));
  whole = cx.b.CreateBinaryIntrinsic(
      isSigned ? I::smin : I::umin, whole,
      limit(isSigned ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits)));
  return cx.b.CreateTrunc(whole, to);
}

}  // namespace tandem::lower::gpu
