// The dialect arith. An op on tiles, on numbers of the program and on numbers of each thread is the same instruction.
#include "compiler/lower/sim/elementwise_table.h"
#include "compiler/lower/sim/function_lowering.h"
#include "compiler/lower/sim/types.h"
#include <llvm/ADT/TypeSwitch.h>

namespace tandem::lower {
using namespace mlir;
using namespace interpreter;
namespace {

CompareOp compareOp(arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
    case P::eq: return CompareOp::Eq;
    case P::ne: return CompareOp::Ne;
    case P::slt: return CompareOp::SLt;
    case P::sle: return CompareOp::SLe;
    case P::sgt: return CompareOp::SGt;
    case P::sge: return CompareOp::SGe;
    case P::ult: return CompareOp::ULt;
    case P::ule: return CompareOp::ULe;
    case P::ugt: return CompareOp::UGt;
    case P::uge: return CompareOp::UGe;
  }
  llvm_unreachable("a predicate outside the enum");
}

// Returns nothing for the predicates that are constants.
std::optional<CompareOp> compareOp(arith::CmpFPredicate predicate) {
  using P = arith::CmpFPredicate;
  switch (predicate) {
    case P::AlwaysFalse:
    case P::AlwaysTrue: return std::nullopt;
    case P::OEQ: return CompareOp::OEq;
    case P::OGT: return CompareOp::OGt;
    case P::OGE: return CompareOp::OGe;
    case P::OLT: return CompareOp::OLt;
    case P::OLE: return CompareOp::OLe;
    case P::ONE: return CompareOp::ONe;
    case P::ORD: return CompareOp::Ord;
    case P::UEQ: return CompareOp::UEq;
    case P::UGT: return CompareOp::UGtF;
    case P::UGE: return CompareOp::UGeF;
    case P::ULT: return CompareOp::ULtF;
    case P::ULE: return CompareOp::ULeF;
    case P::UNE: return CompareOp::UNe;
    case P::UNO: return CompareOp::Uno;
  }
  llvm_unreachable("a predicate outside the enum");
}

uint8_t sub(auto op) { return static_cast<uint8_t>(op); }

}  // namespace

void FunctionLowering::emitElementwise(Operation* op, Code code) {
  Registers operands = useAlike(llvm::to_vector(op->getOperands()));
  build_.emit(code, operands, defineAll(op->getResults()));
}

bool FunctionLowering::lowerElementwise(Operation* op) {
  if (std::optional<UnaryOp> unary = unaryOpOf(op))
    return emitElementwise(op, {Op::Unary, sub(*unary), elem(op->getOperand(0))}), true;
  if (std::optional<BinaryOp> binary = binaryOpOf(op))
    return emitElementwise(op, {Op::Binary, sub(*binary), elem(op->getOperand(0))}), true;
  if (std::optional<ConvertOp> conversion = convertOpOf(op)) return convert(op, *conversion), true;
  return false;
}

bool FunctionLowering::lowerArith(Operation* op) {
  if (lowerElementwise(op)) return true;
  return llvm::TypeSwitch<Operation*, bool>(op)
      .Case<arith::ConstantOp>([&](auto o) { return lowerConstant(o), true; })
      .Case<arith::SelectOp>([&](auto o) { return lowerSelect(o), true; })
      .Case<arith::CmpIOp>([&](auto o) {
        return emitElementwise(o, {Op::Compare, sub(compareOp(o.getPredicate())), elem(o.getLhs())}), true;
      })
      .Case<arith::CmpFOp>([&](auto o) { return lowerCompareF(o), true; })
      .Case<arith::MulSIExtendedOp>(
          [&](auto o) { return emitElementwise(o, {Op::MulExtended, 1, elem(o.getLhs())}), true; })
      .Case<arith::MulUIExtendedOp>(
          [&](auto o) { return emitElementwise(o, {Op::MulExtended, 0, elem(o.getLhs())}), true; })
      .Case<arith::AddUIExtendedOp>([&](auto o) { return lowerAddExtended(o), true; })
      .Case<arith::TruncFOp>([&](auto o) { return lowerTruncF(o), true; })
      .Case<arith::IndexCastOp>([&](auto o) { return lowerIndexCast(o, true), true; })
      .Case<arith::IndexCastUIOp>([&](auto o) { return lowerIndexCast(o, false), true; })
      .Default([](Operation*) { return false; });
}

// A conversion between equal element types is no instruction.
void FunctionLowering::convert(Operation* op, ConvertOp conversion) {
  Value source = op->getOperand(0), result = op->getResult(0);
  std::optional<Elem> to = elemOf(result.getType());
  if (to == elem(source)) return alias(result, use(source));
  Register from = use(source);
  build_.emit({Op::Convert, sub(conversion), build_.type(from).elem}, {from}, {define(result)});
}

void FunctionLowering::lowerTruncF(arith::TruncFOp op) {
  arith::RoundingMode mode = op.getRoundingmode().value_or(arith::RoundingMode::to_nearest_even);
  if (mode == arith::RoundingMode::to_nearest_even) return convert(op, ConvertOp::FToF);
  if (mode == arith::RoundingMode::toward_zero) return convert(op, ConvertOp::FToFRtz);
  locations_.fail(op, "unsupported",
                  "the simulator cannot round `arith.truncf` as `" + arith::stringifyRoundingMode(mode).str() + "`");
}

void FunctionLowering::lowerIndexCast(Operation* op, bool isSigned) {
  std::optional<Elem> to = elemOf(op->getResult(0).getType());
  bool narrows = to && byteSize(*to) < byteSize(elem(op->getOperand(0)));
  convert(op, narrows ? ConvertOp::TruncI : isSigned ? ConvertOp::ExtS : ConvertOp::ExtU);
}

void FunctionLowering::lowerCompareF(arith::CmpFOp op) {
  if (std::optional<CompareOp> known = compareOp(op.getPredicate()))
    return emitElementwise(op, {Op::Compare, sub(*known), elem(op.getLhs())});
  bool always = op.getPredicate() == arith::CmpFPredicate::AlwaysTrue;
  build_.emit({Op::Constant, 0, Elem::I1}, {}, {define(op.getResult())}, imm::Constant{.bits = always, .isOffset = 0});
}

// The condition may stay one for the program while the values are many.
void FunctionLowering::lowerSelect(arith::SelectOp op) {
  bool lanes = divergence_.isLanes(op.getResult());
  Value condition = op.getCondition();
  Register a = lanes ? useLanes(op.getTrueValue()) : use(op.getTrueValue());
  Register b = lanes ? useLanes(op.getFalseValue()) : use(op.getFalseValue());
  Register result = define(op.getResult());
  build_.emit({Op::Select, 0, build_.type(a).elem}, {use(condition), a, b}, {result});
}

void FunctionLowering::lowerAddExtended(arith::AddUIExtendedOp op) {
  Registers operands = useAlike({op.getLhs(), op.getRhs()});
  Elem kind = build_.type(operands[0]).elem;
  Register sum = define(op.getSum()), overflow = define(op.getOverflow());
  build_.emit({Op::Binary, sub(BinaryOp::AddI), kind}, operands, {sum});
  build_.emit({Op::Compare, sub(CompareOp::ULt), kind}, {sum, operands[0]}, {overflow});
}

Register FunctionLowering::binary(BinaryOp op, Register a, Register b) {
  Register result = build_.newRegister(build_.type(a));
  build_.emit({Op::Binary, sub(op), build_.type(a).elem}, {a, b}, {result});
  return result;
}

Register FunctionLowering::compare(CompareOp op, Register a, Register b) {
  RegisterType type = build_.type(a);
  type.elem = Elem::I1;
  Register result = build_.newRegister(std::move(type));
  build_.emit({Op::Compare, sub(op), build_.type(a).elem}, {a, b}, {result});
  return result;
}

Register FunctionLowering::select(Register condition, Register a, Register b) {
  Register result = build_.newRegister(build_.type(a));
  build_.emit({Op::Select, 0, build_.type(a).elem}, {condition, a, b}, {result});
  return result;
}

}  // namespace tandem::lower
