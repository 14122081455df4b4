// This file lowers the dialect arith, register by register. Integer ops that need more than one instruction are in
// integer.cpp.
#include "compiler/lower/nvidia/kernel_lowering.h"
#include <llvm/ADT/TypeSwitch.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

namespace tandem::lower::nvidia {
using namespace mlir;
namespace {

llvm::CmpInst::Predicate predicateOf(arith::CmpIPredicate p) {
  using P = arith::CmpIPredicate;
  using L = llvm::CmpInst;
  switch (p) {
    case P::eq: return L::ICMP_EQ;
    case P::ne: return L::ICMP_NE;
    case P::slt: return L::ICMP_SLT;
    case P::sle: return L::ICMP_SLE;
    case P::sgt: return L::ICMP_SGT;
    case P::sge: return L::ICMP_SGE;
    case P::ult: return L::ICMP_ULT;
    case P::ule: return L::ICMP_ULE;
    case P::ugt: return L::ICMP_UGT;
    case P::uge: return L::ICMP_UGE;
  }
  llvm_unreachable("a predicate outside the enum");
}

llvm::CmpInst::Predicate predicateOf(arith::CmpFPredicate p) {
  using P = arith::CmpFPredicate;
  using L = llvm::CmpInst;
  switch (p) {
    case P::AlwaysFalse: return L::FCMP_FALSE;
    case P::OEQ: return L::FCMP_OEQ;
    case P::OGT: return L::FCMP_OGT;
    case P::OGE: return L::FCMP_OGE;
    case P::OLT: return L::FCMP_OLT;
    case P::OLE: return L::FCMP_OLE;
    case P::ONE: return L::FCMP_ONE;
    case P::ORD: return L::FCMP_ORD;
    case P::UEQ: return L::FCMP_UEQ;
    case P::UGT: return L::FCMP_UGT;
    case P::UGE: return L::FCMP_UGE;
    case P::ULT: return L::FCMP_ULT;
    case P::ULE: return L::FCMP_ULE;
    case P::UNE: return L::FCMP_UNE;
    case P::UNO: return L::FCMP_UNO;
    case P::AlwaysTrue: return L::FCMP_TRUE;
  }
  llvm_unreachable("a predicate outside the enum");
}

std::optional<llvm::Instruction::BinaryOps> binaryOf(Operation* op) {
  using I = llvm::Instruction;
  return llvm::TypeSwitch<Operation*, std::optional<I::BinaryOps>>(op)
      .Case<arith::AddIOp>([](auto) { return I::Add; })
      .Case<arith::SubIOp>([](auto) { return I::Sub; })
      .Case<arith::MulIOp>([](auto) { return I::Mul; })
      .Case<arith::AndIOp>([](auto) { return I::And; })
      .Case<arith::OrIOp>([](auto) { return I::Or; })
      .Case<arith::XOrIOp>([](auto) { return I::Xor; })
      .Case<arith::AddFOp>([](auto) { return I::FAdd; })
      .Case<arith::SubFOp>([](auto) { return I::FSub; })
      .Case<arith::MulFOp>([](auto) { return I::FMul; })
      .Default([](Operation*) { return std::nullopt; });
}

std::optional<llvm::Intrinsic::ID> binaryIntrinsicOf(Operation* op) {
  namespace I = llvm::Intrinsic;
  return llvm::TypeSwitch<Operation*, std::optional<llvm::Intrinsic::ID>>(op)
      .Case<arith::MinSIOp>([](auto) { return I::smin; })
      .Case<arith::MaxSIOp>([](auto) { return I::smax; })
      .Case<arith::MinUIOp>([](auto) { return I::umin; })
      .Case<arith::MaxUIOp>([](auto) { return I::umax; })
      .Case<arith::MinNumFOp>([](auto) { return I::minnum; })
      .Case<arith::MaxNumFOp>([](auto) { return I::maxnum; })
      .Case<arith::MinimumFOp>([](auto) { return I::minimum; })
      .Case<arith::MaximumFOp>([](auto) { return I::maximum; })
      .Default([](Operation*) { return std::nullopt; });
}

std::optional<llvm::Instruction::CastOps> castOf(Operation* op) {
  using I = llvm::Instruction;
  return llvm::TypeSwitch<Operation*, std::optional<I::CastOps>>(op)
      .Case<arith::TruncIOp>([](auto) { return I::Trunc; })
      .Case<arith::ExtSIOp>([](auto) { return I::SExt; })
      .Case<arith::ExtUIOp>([](auto) { return I::ZExt; })
      .Case<arith::BitcastOp>([](auto) { return I::BitCast; })
      .Default([](Operation*) { return std::nullopt; });
}

}  // namespace

// Triton's `/` on float32 is the division of two units in the last place; `div_rn` says that it is precise.
static llvm::Value* divide(llvm::IRBuilder<>& b, Operation* op, llvm::Value* x, llvm::Value* y) {
  if (x->getType()->isFloatTy() && !op->hasAttr("tile.precise"))
    return b.CreateIntrinsic(x->getType(), llvm::Intrinsic::nvvm_div_full, {x, y});
  return b.CreateFDiv(x, y);
}

llvm::Value* KernelLowering::remainder(Operation* op, Scalars v) {
  if (!v[0]->getType()->isFloatTy() && !v[0]->getType()->isDoubleTy())
    return throughFloat(op, v, [&](Scalars wide) { return remainder(op, wide); });
  return callLibdevice(v[0]->getType()->isDoubleTy() ? "__nv_fmod" : "__nv_fmodf", v[0]->getType(), v);
}

static bool isFloat8(mlir::Type type) {
  type = getElementTypeOrSelf(type);
  return isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 8;
}

// Arithmetic of 8-bit floats is float32's; an op that only moves or reinterprets bits is not arithmetic.
static bool computesOnFloat8(Operation* op) {
  if (isa<arith::SelectOp, arith::BitcastOp>(op) || op->getNumOperands() == 0) return false;
  return isFloat8(op->getOperand(0).getType()) && !isa<arith::FPToSIOp, arith::FPToUIOp>(op);
}

llvm::Value* KernelLowering::scalarOp(Operation* op, Scalars v) {
  if (computesOnFloat8(op) && v[0]->getType()->isIntegerTy())
    return throughFloat(op, v, [&](Scalars wide) { return scalarOp(op, wide); });
  if (llvm::Value* result = integerOp(op, v)) return result;
  if (auto binary = binaryOf(op)) return b_.CreateBinOp(*binary, v[0], v[1]);
  if (auto intrinsic = binaryIntrinsicOf(op)) return b_.CreateBinaryIntrinsic(*intrinsic, v[0], v[1]);
  if (auto cast = castOf(op)) return b_.CreateCast(*cast, v[0], typeOf(op->getResult(0).getType()));
  return llvm::TypeSwitch<Operation*, llvm::Value*>(op)
      .Case<arith::CmpIOp>([&](auto o) { return b_.CreateICmp(predicateOf(o.getPredicate()), v[0], v[1]); })
      .Case<arith::CmpFOp>([&](auto o) { return b_.CreateFCmp(predicateOf(o.getPredicate()), v[0], v[1]); })
      .Case<arith::SelectOp>([&](auto) { return b_.CreateSelect(v[0], v[1], v[2]); })
      .Case<arith::DivFOp>([&](auto) { return divide(b_, op, v[0], v[1]); })
      .Case<arith::NegFOp>([&](auto) { return b_.CreateFNeg(v[0]); })
      .Case<arith::RemFOp>([&](auto) { return remainder(op, v); })
      .Case<arith::SIToFPOp, arith::UIToFPOp>([&](auto) { return integerToFloat(op, v[0]); })
      .Case<arith::FPToSIOp, arith::FPToUIOp>([&](auto) { return floatToInteger(op, v[0]); })
      .Case<arith::IndexCastOp>([&](auto o) { return b_.CreateSExtOrTrunc(v[0], typeOf(o.getResult().getType())); })
      .Case<arith::IndexCastUIOp>([&](auto o) { return b_.CreateZExtOrTrunc(v[0], typeOf(o.getResult().getType())); })
      .Default([](Operation*) { return nullptr; });
}

// The element type decides the arithmetic, so an op that has no scalar form is found out on its first register.
bool KernelLowering::lowerArith(Operation* op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) return lowerConstant(constant), true;
  if (isa<arith::ExtFOp, arith::TruncFOp, tile::FpToFpOp>(op)) return lowerFloatConvert(op);
  if (isa<arith::MulSIExtendedOp, arith::MulUIExtendedOp, arith::AddUIExtendedOp>(op)) return lowerExtended(op), true;
  bool isElementwise = isa<arith::ArithDialect>(op->getDialect()) ||
                       (isa<tile::TileDialect>(op->getDialect()) && op->hasTrait<OpTrait::SameOperandsAndResultType>());
  bool ours = op->getNumResults() == 1 && isElementwise;
  if (!ours) return false;
  mapRegisters(op, [&](Scalars v) {
    llvm::Value* result = scalarOp(op, v);
    if (!result) failUnsupported(op);
    return result;
  });
  return true;
}

}  // namespace tandem::lower::nvidia
