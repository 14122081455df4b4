// This file lowers the dialect arith, register by register. Integer ops that need more than one instruction are in
// integer.cpp.
#include "compiler/dialect/tile/attributes.h"
#include "compiler/lower/gpu/constant.h"
#include "compiler/lower/gpu/float_convert.h"
#include "compiler/lower/gpu/integer.h"
#include "compiler/lower/gpu/kernel.h"
#include "compiler/lower/gpu/pairs.h"
#include <llvm/ADT/TypeSwitch.h>

namespace tandem::lower::gpu {
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
static llvm::Value* divide(KernelContext& cx, Operation* op, llvm::Value* x, llvm::Value* y) {
  if (x->getType()->isFloatTy() && !tile::isPrecise(op)) return cx.emit.divideApproximately(x, y);
  return cx.b.CreateFDiv(x, y);
}

static llvm::Value* remainder(KernelContext& cx, Operation* op, Scalars v) {
  if (!v[0]->getType()->isFloatTy() && !v[0]->getType()->isDoubleTy())
    return throughFloat(cx, op, v, [&](Scalars wide) { return remainder(cx, op, wide); });
  return cx.emit.callMath("fmod", v[0]->getType(), v);
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

static llvm::Value* scalarOp(KernelContext& cx, Operation* op, Scalars v) {
  if (computesOnFloat8(op) && v[0]->getType()->isIntegerTy())
    return throughFloat(cx, op, v, [&](Scalars wide) { return scalarOp(cx, op, wide); });
  if (llvm::Value* result = integerOp(cx, op, v)) return result;
  if (auto binary = binaryOf(op)) return cx.b.CreateBinOp(*binary, v[0], v[1]);
  if (auto intrinsic = binaryIntrinsicOf(op)) return cx.b.CreateBinaryIntrinsic(*intrinsic, v[0], v[1]);
  if (auto cast = castOf(op)) return cx.b.CreateCast(*cast, v[0], cx.typeOf(op->getResult(0).getType()));
  return llvm::TypeSwitch<Operation*, llvm::Value*>(op)
      .Case<arith::CmpIOp>([&](auto o) { return cx.b.CreateICmp(predicateOf(o.getPredicate()), v[0], v[1]); })
      .Case<arith::CmpFOp>([&](auto o) { return cx.b.CreateFCmp(predicateOf(o.getPredicate()), v[0], v[1]); })
      .Case<arith::SelectOp>([&](auto) { return cx.b.CreateSelect(v[0], v[1], v[2]); })
      .Case<arith::DivFOp>([&](auto) { return divide(cx, op, v[0], v[1]); })
      .Case<arith::NegFOp>([&](auto) { return cx.b.CreateFNeg(v[0]); })
      .Case<arith::RemFOp>([&](auto) { return remainder(cx, op, v); })
      .Case<arith::FPToSIOp, arith::FPToUIOp>([&](auto) { return floatToInteger(cx, op, v[0]); })
      .Case<arith::IndexCastOp>(
          [&](auto o) { return cx.b.CreateSExtOrTrunc(v[0], cx.typeOf(o.getResult().getType())); })
      .Case<arith::IndexCastUIOp>(
          [&](auto o) { return cx.b.CreateZExtOrTrunc(v[0], cx.typeOf(o.getResult().getType())); })
      .Default([](Operation*) { return nullptr; });
}

// The bits of a position in which an integer tile's elements are known to be equal: neighbours that are divided by the
// same, or compared with a limit that never lies between them.
static uint64_t bitsOfEquals(KernelContext& cx, Operation* op) {
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type || !type.getElementType().isInteger() || op->getNumOperands() == 0) return 0;
  const analysis::AxisInfo& info = cx.axes(op).of(op->getResult(0));
  LinearLayout layout = cx.layoutOf(op->getResult(0));
  uint64_t bits = 0;
  for (unsigned axis = 0; axis < layout.rank(); ++axis) {
    uint64_t equal = uint64_t(info.constancy(axis)), run = equal & -equal;
    bits |= (run - 1) << layout.axisShift(axis) & layout.axisMask(axis);
  }
  return bits;
}

// Neighbours that count up by one in registers of a thread.
struct Run {
  uint64_t bits = 0;  // of a position
  unsigned shift = 0;
  int64_t between(uint64_t from, uint64_t to) const {
    return int64_t((to & bits) >> shift) - int64_t((from & bits) >> shift);
  }
};

// Returns true if what is known of the tile may follow from a program's promise of runs. Of `max_contiguous(rows % M, 128)` the last
// run is none where M is no multiple, which accesses of a few elements bear. What a loop or a branch hands on is not followed.
static bool isPromised(mlir::Value tile) {
  llvm::SmallVector<mlir::Value> left{tile};
  for (int budget = 32; !left.empty(); --budget) {
    Operation* op = left.pop_back_val().getDefiningOp();
    if (budget == 0 || !op || op->getNumRegions() || tile::promiseOf(op, tile::Promise::Contiguity)) return true;
    llvm::copy_if(op->getOperands(), std::back_inserter(left),
                  [](mlir::Value v) { return isa<RankedTensorType>(v.getType()); });
  }
  return false;
}

// The remainders of neighbours count up where these have one quotient.
static Run runOfRemainders(KernelContext& cx, Operation* op) {
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type || !isa<arith::RemSIOp, arith::RemUIOp>(op) || isPromised(op->getResult(0))) return {};
  const analysis::AxisInfo& info = cx.axes(op).of(op->getResult(0));
  LinearLayout layout = cx.layoutOf(op->getResult(0));
  uint64_t ofThreads = 0;
  for (layout::Dim dim : {layout::Dim::Lane, layout::Dim::Warp})
    for (uint64_t basis : layout.bases(dim)) ofThreads |= basis;
  for (unsigned axis = 0; axis < layout.rank(); ++axis) {
    uint64_t counted = uint64_t(info.contiguity(axis)), run = counted & -counted;
    uint64_t bits = (run - 1) << layout.axisShift(axis) & layout.axisMask(axis) & ~ofThreads;
    if (bits) return {bits, layout.axisShift(axis)};
  }
  return {};
}

// The element type decides the arithmetic, so an op that has no scalar form is found out on its first register. What is
// known to be equal, or to follow from a neighbour, is computed once.
static void lowerElementwise(KernelContext& cx, Operation* op) {
  if (op->getNumResults() != 1) cx.failUnsupported(op);
  if (isa<arith::AddFOp, arith::SubFOp, arith::MulFOp>(op) &&
      inPairs(cx, op, [&](Scalars v) { return cx.b.CreateBinOp(*binaryOf(op), v[0], v[1]); }))
    return;
  uint64_t equals = bitsOfEquals(cx, op);
  Run run = runOfRemainders(cx, op);
  LinearLayout layout = equals || run.bits ? cx.layoutOf(op->getResult(0)) : LinearLayout();
  llvm::SmallDenseMap<uint64_t, std::pair<llvm::Value*, uint64_t>> computed;  // with its position
  uint64_t next = 0;
  cx.mapRegisters(op, [&](Scalars v) {
    uint64_t position = equals || run.bits ? layout.apply(layout::Dim::Register, next) & ~equals : next;
    ++next;
    auto& [first, at] = computed[position & ~run.bits];
    if (!first) {
      first = scalarOp(cx, op, v);
      at = position;
    }
    if (!first) cx.failUnsupported(op);
    int64_t further = run.between(at, position);
    return further ? cx.b.CreateAdd(first, llvm::ConstantInt::getSigned(first->getType(), further)) : first;
  });
}

void registerArith(Lowerings& table) {
  table.onDialect<arith::ArithDialect>([](KernelContext& cx, Operation* op) { lowerElementwise(cx, op); });
  table.onDialect<tile::TileDialect>([](KernelContext& cx, Operation* op) {
    if (!op->hasTrait<OpTrait::SameOperandsAndResultType>()) cx.failUnsupported(op);
    lowerElementwise(cx, op);
  });
  table.on<arith::ConstantOp>([](KernelContext& cx, auto o) { lowerConstant(cx, o); });
  table.on<arith::ExtFOp, arith::TruncFOp, tile::FpToFpOp>([](KernelContext& cx, auto o) { lowerFloatConvert(cx, o); });
  table.on<arith::SIToFPOp, arith::UIToFPOp>([](KernelContext& cx, auto o) { lowerIntegerToFloat(cx, o); });
  table.on<arith::MulSIExtendedOp, arith::MulUIExtendedOp, arith::AddUIExtendedOp>(
      [](KernelContext& cx, auto o) { lowerExtended(cx, o); });
}

}  // namespace tandem::lower::gpu
