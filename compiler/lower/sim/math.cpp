// Ops of the dialect math that take more than one instruction; the others are in the table.
#include "compiler/lower/sim/elementwise_table.h"
#include "compiler/lower/sim/function_lowering.h"
#include <llvm/ADT/TypeSwitch.h>
#include <mlir/Dialect/Math/IR/Math.h>

namespace tandem::lower {
using namespace mlir;
using namespace interpreter;
namespace {

uint8_t sub(auto op) { return static_cast<uint8_t>(op); }

// Ones of the low `width` bits of an element.
int64_t allOnes(Elem elem) {
  return elem == Elem::I1 ? 1 : byteSize(elem) == 8 ? -1 : (int64_t(1) << (8 * byteSize(elem))) - 1;
}

}  // namespace

bool FunctionLowering::lowerMath(Operation* op) {
  return llvm::TypeSwitch<Operation*, bool>(op)
      .Case<math::FmaOp>([&](auto o) { return emitElementwise(o, {Op::Fma, 0, elem(o.getA())}), true; })
      .Case<math::ClampFOp>([&](auto o) { return emitElementwise(o, {Op::Clamp, 1, elem(o.getValue())}), true; })
      .Case<math::SincosOp>([&](auto o) {
        Register operand = use(o.getOperand());
        Elem kind = build_.type(operand).elem;
        build_.emit({Op::Unary, sub(UnaryOp::Sin), kind}, {operand}, {define(o.getSin())});
        build_.emit({Op::Unary, sub(UnaryOp::Cos), kind}, {operand}, {define(o.getCos())});
        return true;
      })
      .Case<math::FPowIOp>([&](auto o) { return lowerFloatIntegerPower(o), true; })
      .Case<math::IPowIOp>([&](auto o) { return lowerIntegerPower(o), true; })
      .Case<math::IsNormalOp>([&](auto o) { return lowerIsNormal(o), true; })
      .Default([](Operation*) { return false; });
}

void FunctionLowering::lowerFloatIntegerPower(Operation* op) {
  Registers operands = useAlike(llvm::to_vector(op->getOperands()));
  RegisterType type = build_.type(operands[0]);
  Register exponent = build_.newRegister(type);
  build_.emit({Op::Convert, sub(ConvertOp::SToF), build_.type(operands[1]).elem}, {operands[1]}, {exponent});
  build_.emit({Op::Binary, sub(BinaryOp::PowF), type.elem}, {operands[0], exponent}, {define(op->getResult(0))});
}

// Squaring, one round for each bit of the exponent. A negative exponent leaves 1, -1 by the exponent's parity, or 0.
void FunctionLowering::lowerIntegerPower(Operation* op) {
  Registers operands = useAlike(llvm::to_vector(op->getOperands()));
  Register base = operands[0], exponent = operands[1];
  RegisterType type = build_.type(base);
  Register zero = constant(type, 0), one = constant(type, 1), minusOne = constant(type, allOnes(type.elem));
  auto isOdd = [&](Register r) { return compare(CompareOp::Ne, binary(BinaryOp::And, r, one), zero); };
  Register power = one, square = base, rest = exponent;
  uint32_t bits = type.elem == Elem::I1 ? 1 : 8 * byteSize(type.elem) - 1;
  for (uint32_t bit = 0; bit < bits; ++bit) {
    power = select(isOdd(rest), binary(BinaryOp::MulI, power, square), power);
    square = binary(BinaryOp::MulI, square, square);
    rest = binary(BinaryOp::ShrU, rest, one);
  }
  Register ofMinusOne = select(isOdd(exponent), minusOne, one);
  Register reciprocal = select(compare(CompareOp::Eq, base, minusOne), ofMinusOne, zero);
  reciprocal = select(compare(CompareOp::Eq, base, one), one, reciprocal);
  Register isNegative = compare(CompareOp::SLt, exponent, zero);
  build_.emit({Op::Select, 0, type.elem}, {isNegative, reciprocal, power}, {define(op->getResult(0))});
}

void FunctionLowering::lowerIsNormal(Operation* op) {
  Register x = use(op->getOperand(0));
  RegisterType type = build_.type(x);
  auto floatType = cast<FloatType>(getElementTypeOrSelf(op->getOperand(0).getType()));
  APFloat least = APFloat::getSmallestNormalized(floatType.getFloatSemantics());
  Register size = build_.newRegister(type);
  build_.emit({Op::Unary, sub(UnaryOp::AbsF), type.elem}, {x}, {size});
  Register isLarge = compare(CompareOp::OGe, size, constant(type, least.bitcastToAPInt().getZExtValue()));
  Register isFinite = build_.newRegister(build_.type(isLarge));
  build_.emit({Op::Unary, sub(UnaryOp::IsFinite), type.elem}, {x}, {isFinite});
  build_.emit({Op::Binary, sub(BinaryOp::And), Elem::I1}, {isLarge, isFinite}, {define(op->getResult(0))});
}

}  // namespace tandem::lower
