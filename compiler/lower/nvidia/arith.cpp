// The dialect arith, register by register. Conversions between float formats are in float_convert.cpp.
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
      .Case<arith::DivSIOp>([](auto) { return I::SDiv; })
      .Case<arith::DivUIOp>([](auto) { return I::UDiv; })
      .Case<arith::RemSIOp>([](auto) { return I::SRem; })
      .Case<arith::RemUIOp>([](auto) { return I::URem; })
      .Case<arith::AndIOp>([](auto) { return I::And; })
      .Case<arith::OrIOp>([](auto) { return I::Or; })
      .Case<arith::XOrIOp>([](auto) { return I::Xor; })
      .Case<arith::ShLIOp>([](auto) { return I::Shl; })
      .Case<arith::ShRSIOp>([](auto) { return I::AShr; })
      .Case<arith::ShRUIOp>([](auto) { return I::LShr; })
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
      .Case<arith::SIToFPOp>([](auto) { return I::SIToFP; })
      .Case<arith::UIToFPOp>([](auto) { return I::UIToFP; })
      .Case<arith::FPToSIOp>([](auto) { return I::FPToSI; })
      .Case<arith::FPToUIOp>([](auto) { return I::FPToUI; })
      .Case<arith::BitcastOp>([](auto) { return I::BitCast; })
      .Default([](Operation*) { return std::nullopt; });
}

}  // namespace

// Triton's `/` on float32 is the division of two units in the last place; `div_rn` comes as a library call.
static llvm::Value* divide(llvm::IRBuilder<>& b, llvm::Value* x, llvm::Value* y) {
  if (x->getType()->isFloatTy()) return b.CreateIntrinsic(x->getType(), llvm::Intrinsic::nvvm_div_full, {x, y});
  return b.CreateFDiv(x, y);
}

llvm::Value* KernelLowering::scalarOp(Operation* op, Scalars v) {
  if (auto binary = binaryOf(op)) return b_.CreateBinOp(*binary, v[0], v[1]);
  if (auto intrinsic = binaryIntrinsicOf(op)) return b_.CreateBinaryIntrinsic(*intrinsic, v[0], v[1]);
  if (auto cast = castOf(op)) return b_.CreateCast(*cast, v[0], typeOf(op->getResult(0).getType()));
  return llvm::TypeSwitch<Operation*, llvm::Value*>(op)
      .Case<arith::CmpIOp>([&](auto o) { return b_.CreateICmp(predicateOf(o.getPredicate()), v[0], v[1]); })
      .Case<arith::CmpFOp>([&](auto o) { return b_.CreateFCmp(predicateOf(o.getPredicate()), v[0], v[1]); })
      .Case<arith::SelectOp>([&](auto) { return b_.CreateSelect(v[0], v[1], v[2]); })
      .Case<arith::DivFOp>([&](auto) { return divide(b_, v[0], v[1]); })
      .Case<arith::NegFOp>([&](auto) { return b_.CreateFNeg(v[0]); })
      .Case<arith::RemFOp>([&](auto) { return callLibdevice(v[0]->getType()->isDoubleTy() ? "__nv_fmod" : "__nv_fmodf", v[0]->getType(), v); })
      .Case<arith::IndexCastOp>([&](auto o) { return b_.CreateSExtOrTrunc(v[0], typeOf(o.getResult().getType())); })
      .Case<arith::IndexCastUIOp>([&](auto o) { return b_.CreateZExtOrTrunc(v[0], typeOf(o.getResult().getType())); })
      .Case<tile::MulHiUIOp>([&](auto) {
        unsigned bits = v[0]->getType()->getIntegerBitWidth();
        llvm::Type* wide = b_.getIntNTy(2 * bits);
        return b_.CreateTrunc(b_.CreateLShr(b_.CreateMul(b_.CreateZExt(v[0], wide), b_.CreateZExt(v[1], wide)), bits), v[0]->getType());
      })
      .Default([](Operation*) { return nullptr; });
}

// The element type decides the arithmetic, so an op that has no scalar form is found out on its first register.
bool KernelLowering::lowerArith(Operation* op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) return lowerConstant(constant), true;
  if (isa<arith::ExtFOp, arith::TruncFOp, tile::FpToFpOp>(op)) return lowerFloatConvert(op);
  bool ours = op->getNumResults() == 1 && (isa<arith::ArithDialect>(op->getDialect()) || isa<tile::MulHiUIOp>(op));
  if (!ours) return false;
  mapRegisters(op, [&](Scalars v) {
    llvm::Value* result = scalarOp(op, v);
    if (!result) failUnsupported(op);
    return result;
  });
  return true;
}

static llvm::Constant* constantOf(llvm::Type* type, Attribute value) {
  if (auto i = dyn_cast<IntegerAttr>(value)) return llvm::ConstantInt::get(type, i.getValue().zextOrTrunc(type->getIntegerBitWidth()));
  llvm::APFloat number = cast<FloatAttr>(value).getValue();
  if (type->isIntegerTy()) return llvm::ConstantInt::get(type, number.bitcastToAPInt());
  return llvm::ConstantFP::get(type, number);
}

void KernelLowering::lowerConstant(arith::ConstantOp op) {
  llvm::Type* type = typeOf(op.getType());
  auto dense = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!dense) return define(op.getResult(), {constantOf(type, op.getValue())});
  if (!dense.isSplat()) failUnsupported(op);
  define(op.getResult(), Regs(registersOf(op.getResult()), constantOf(type, dense.getSplatValue<Attribute>())));
}

}  // namespace tandem::lower::nvidia
