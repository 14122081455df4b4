// The dialect math and functions of the device library. Formats narrower than float32 are computed in it.
#include "compiler/dialect/tile/attributes.h"
#include "compiler/lower/gpu/float_convert.h"
#include "compiler/lower/gpu/pairs.h"
#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/TypeSwitch.h>
#include <mlir/Dialect/Math/IR/Math.h>

namespace tandem::lower::gpu {
using namespace mlir;
namespace {

namespace I = llvm::Intrinsic;

// LLVM's own functions, which are one or two instructions.
llvm::Intrinsic::ID intrinsicOf(Operation* op) {
  static const llvm::StringMap<I::ID> table = {{"math.absf", I::fabs},           {"math.ceil", I::ceil},
                                               {"math.floor", I::floor},         {"math.trunc", I::trunc},
                                               {"math.roundeven", I::roundeven}, {"math.fma", I::fma},
                                               {"math.copysign", I::copysign},   {"math.ctpop", I::ctpop}};
  auto it = table.find(op->getName().getStringRef());
  return it == table.end() ? I::not_intrinsic : it->second;
}

// Names of the device library.
llvm::StringRef libraryNameOf(Operation* op) {
  static const llvm::StringMap<llvm::StringRef> table = {
      {"math.round", "round"}, {"math.rsqrt", "rsqrt"}, {"math.exp", "exp"},     {"math.exp2", "exp2"},
      {"math.expm1", "expm1"}, {"math.log", "log"},     {"math.log2", "log2"},   {"math.log10", "log10"},
      {"math.log1p", "log1p"}, {"math.sin", "sin"},     {"math.cos", "cos"},     {"math.tan", "tan"},
      {"math.asin", "asin"},   {"math.acos", "acos"},   {"math.atan", "atan"},   {"math.sinh", "sinh"},
      {"math.cosh", "cosh"},   {"math.tanh", "tanh"},   {"math.asinh", "asinh"}, {"math.acosh", "acosh"},
      {"math.atanh", "atanh"}, {"math.erf", "erf"},     {"math.erfc", "erfc"},   {"math.cbrt", "cbrt"},
      {"math.powf", "pow"},    {"math.atan2", "atan2"}};
  auto it = table.find(op->getName().getStringRef());
  return it == table.end() ? llvm::StringRef() : it->second;
}

// Triton's exp, exp2, sqrt and rsqrt of float32 are the special function unit's. Null for the others.
llvm::Value* approximation(KernelContext& cx, Operation* op, llvm::Value* x) {
  if (!x->getType()->isFloatTy() || tile::isPrecise(op)) return nullptr;
  constexpr double log2e = 1.4426950408889634;
  using A = codegen::Approximate;
  if (isa<math::ExpOp>(op))
    return cx.emit.approximate(A::Exp2, cx.b.CreateFMul(x, llvm::ConstantFP::get(x->getType(), log2e)));
  if (isa<math::Exp2Op>(op)) return cx.emit.approximate(A::Exp2, x);
  if (isa<math::SqrtOp>(op)) return cx.emit.approximate(A::Sqrt, x);
  if (isa<math::RsqrtOp>(op)) return cx.emit.approximate(A::ReciprocalSqrt, x);
  return nullptr;
}

llvm::Value* classify(llvm::IRBuilder<>& b, Operation* op, llvm::Value* x) {
  llvm::Type* type = x->getType();
  if (isa<math::IsNaNOp>(op)) return b.CreateFCmpUNO(x, x);
  llvm::Value *size = b.CreateUnaryIntrinsic(I::fabs, x), *infinity = llvm::ConstantFP::getInfinity(type);
  if (isa<math::IsInfOp>(op)) return b.CreateFCmpOEQ(size, infinity);
  llvm::Value* isFinite = b.CreateFCmpOLT(size, infinity);
  if (isa<math::IsFiniteOp>(op)) return isFinite;
  llvm::Value* least = llvm::ConstantFP::get(type, llvm::APFloat::getSmallestNormalized(type->getFltSemantics()));
  return b.CreateAnd(isFinite, b.CreateFCmpOGE(size, least));
}

// Squaring, one round for each bit of the exponent. A negative exponent leaves 1, -1 by the exponent's parity, or 0.
llvm::Value* integerPower(llvm::IRBuilder<>& b, llvm::Value* base, llvm::Value* exponent) {
  llvm::Type* type = base->getType();
  unsigned bits = type->getIntegerBitWidth();
  llvm::Value *one = llvm::ConstantInt::get(type, 1), *zero = llvm::ConstantInt::get(type, 0);
  llvm::Value* minusOne = llvm::ConstantInt::getSigned(type, -1);
  auto isOdd = [&](llvm::Value* v) { return b.CreateICmpNE(b.CreateAnd(v, one), zero); };
  llvm::Value *power = one, *square = base;
  for (unsigned bit = 0; bit < std::max(1u, bits - 1); ++bit) {
    power = b.CreateSelect(isOdd(b.CreateLShr(exponent, bit)), b.CreateMul(power, square), power);
    square = b.CreateMul(square, square);
  }
  llvm::Value* ofMinusOne = b.CreateSelect(isOdd(exponent), minusOne, one);
  llvm::Value* reciprocal = b.CreateSelect(b.CreateICmpEQ(base, minusOne), ofMinusOne, zero);
  reciprocal = b.CreateSelect(b.CreateICmpEQ(base, one), one, reciprocal);
  return b.CreateSelect(b.CreateICmpSLT(exponent, zero), reciprocal, power);
}

bool isNative16(Operation* op) { return isa<math::FmaOp, math::AbsFOp, math::CopySignOp>(op); }

}  // namespace

// `v` are of the op's operand types, all floats of them float32 or float64 unless the op is native in 16 bits.
static llvm::Value* floatMath(KernelContext& cx, Operation* op, Scalars v) {
  llvm::Type* type = v[0]->getType();
  if (I::ID id = intrinsicOf(op); id != I::not_intrinsic) return cx.b.CreateIntrinsic(type, id, v);
  if (llvm::Value* fast = approximation(cx, op, v[0])) return fast;
  auto library = [&](llvm::StringRef name, Scalars operands) { return cx.emit.callMath(name, type, operands); };
  if (llvm::StringRef name = libraryNameOf(op); !name.empty()) return library(name, v);
  return llvm::TypeSwitch<Operation*, llvm::Value*>(op)
      .Case<math::SqrtOp>([&](auto) { return cx.b.CreateUnaryIntrinsic(I::sqrt, v[0]); })
      .Case<math::IsNaNOp, math::IsInfOp, math::IsFiniteOp, math::IsNormalOp>(
          [&](auto o) { return classify(cx.b, o, v[0]); })
      .Case<math::ClampFOp>([&](auto) { return cx.b.CreateMinimum(cx.b.CreateMaximum(v[0], v[1]), v[2]); })
      .Case<math::FPowIOp>([&](auto) { return library("pow", {v[0], cx.b.CreateSIToFP(v[1], type)}); })
      .Default([](Operation*) { return nullptr; });
}

static llvm::Value* scalarMath(KernelContext& cx, Operation* op, Scalars v) {
  if (isa<math::CountLeadingZerosOp>(op)) return cx.b.CreateBinaryIntrinsic(I::ctlz, v[0], cx.b.getFalse());
  if (isa<math::CountTrailingZerosOp>(op)) return cx.b.CreateBinaryIntrinsic(I::cttz, v[0], cx.b.getFalse());
  if (isa<math::AbsIOp>(op)) return cx.b.CreateBinaryIntrinsic(I::abs, v[0], cx.b.getFalse());
  if (isa<math::IPowIOp>(op)) return integerPower(cx.b, v[0], v[1]);
  if (v[0]->getType()->isFloatTy() || v[0]->getType()->isDoubleTy()) return floatMath(cx, op, v);
  mlir::Type element = getElementTypeOrSelf(op->getOperand(0).getType());
  bool direct = v[0]->getType()->isIntegerTy() && !isa<FloatType>(element);
  if (direct || (isNative16(op) && element.getIntOrFloatBitWidth() == 16)) return floatMath(cx, op, v);
  return throughFloat(cx, op, v, [&](Scalars wide) { return floatMath(cx, op, wide); });
}

// The library's truth values are 32-bit integers.
static void lowerExtern(KernelContext& cx, tile::ExternElementwiseOp op) {
  llvm::Type* result = cx.typeOf(op.getType());
  bool isTruth = result->isIntegerTy(1);
  cx.mapRegisters(op, [&](Scalars v) -> llvm::Value* {
    llvm::SmallVector<llvm::Type*> types;
    for (llvm::Value* operand : v) types.push_back(operand->getType());
    auto* type = llvm::FunctionType::get(isTruth ? cx.b.getInt32Ty() : result, types, false);
    llvm::Value* called = cx.b.CreateCall(cx.module.getOrInsertFunction(op.getSymbol(), type), v);
    return isTruth ? cx.b.CreateICmpNE(called, cx.b.getInt32(0)) : called;
  });
}

static void lowerSincos(KernelContext& cx, math::SincosOp both) {
  mlir::Type element = getElementTypeOrSelf(both.getOperand().getType());
  Regs sines, cosines;
  for (llvm::Value* x : Regs(cx.use(both.getOperand()))) {
    llvm::Value* wide = toFloat(cx, x, element);
    sines.push_back(fromFloat(cx, cx.emit.callMath("sin", wide->getType(), {wide}), element));
    cosines.push_back(fromFloat(cx, cx.emit.callMath("cos", wide->getType(), {wide}), element));
  }
  cx.define(both.getSin(), sines);
  cx.define(both.getCos(), cosines);
}

void registerMath(Lowerings& table) {
  table.onDialect<math::MathDialect>([](KernelContext& cx, Operation* op) {
    if (isa<math::AbsFOp>(op) && inPairs(cx, op, [&](Scalars v) { return cx.b.CreateUnaryIntrinsic(I::fabs, v[0]); }))
      return;
    cx.mapRegisters(op, [&](Scalars v) {
      llvm::Value* result = scalarMath(cx, op, v);
      if (!result) cx.failUnsupported(op);
      return result;
    });
  });
  table.on<math::SincosOp>([](KernelContext& cx, auto o) { lowerSincos(cx, o); });
  table.on<tile::ExternElementwiseOp>([](KernelContext& cx, auto o) { lowerExtern(cx, o); });
}

}  // namespace tandem::lower::gpu
