// Registers and instructions, one a call.
#include "compiler/lower/sim/ptx/assembler.h"

namespace tandem::lower {
using namespace interpreter;
namespace {

uint8_t sub(auto op) { return static_cast<uint8_t>(op); }

}  // namespace

Elem Assembler::integerOf(unsigned bits) {
  return bits == 1 ? Elem::I1 : bits == 8 ? Elem::I8 : bits == 16 ? Elem::I16 : bits == 32 ? Elem::I32 : Elem::I64;
}

Register Assembler::fresh(Elem elem, unsigned length) {
  RegisterType type = like_;
  type.elem = elem;
  type.vectorLength = static_cast<uint16_t>(length);
  return build_.newRegister(std::move(type));
}

Register Assembler::emit(Code code, Registers operands, Elem result, llvm::ArrayRef<int64_t> immediates) {
  Register made = fresh(result);
  build_.emit(code, operands, {made}, immediates);
  return made;
}

Register Assembler::constant(Elem elem, uint64_t bits) {
  return emit({Op::Constant, 0, elem}, {}, elem, imm::Constant{.bits = static_cast<int64_t>(bits), .isOffset = 0});
}

Register Assembler::unary(UnaryOp op, Register a) {
  bool isTest = op == UnaryOp::IsNan || op == UnaryOp::IsInf || op == UnaryOp::IsFinite;
  return emit({Op::Unary, sub(op), elemOf(a)}, {a}, isTest ? Elem::I1 : elemOf(a));
}

Register Assembler::binary(BinaryOp op, Register a, Register b) {
  return emit({Op::Binary, sub(op), elemOf(a)}, {a, b}, elemOf(a));
}

Register Assembler::compare(CompareOp op, Register a, Register b) {
  return emit({Op::Compare, sub(op), elemOf(a)}, {a, b}, Elem::I1);
}

Register Assembler::select(Register condition, Register a, Register b) {
  return emit({Op::Select, 0, elemOf(a)}, {condition, a, b}, elemOf(a));
}

Register Assembler::convert(ConvertOp op, Register a, Elem to) {
  return emit({Op::Convert, sub(op), elemOf(a)}, {a}, to);
}

Register Assembler::bitcast(Register a, Elem to) { return elemOf(a) == to ? a : convert(ConvertOp::Bitcast, a, to); }

Register Assembler::resize(Register a, Elem to, bool isSigned) {
  unsigned have = elemOf(a) == Elem::I1 ? 0 : byteSize(elemOf(a)), want = byteSize(to);
  if (have == want) return a;
  return convert(have > want ? ConvertOp::TruncI : isSigned ? ConvertOp::ExtS : ConvertOp::ExtU, a, to);
}

Register Assembler::call(const char* symbol, Registers operands, Elem result) {
  return emit({Op::Extern, 0, elemOf(operands[0])}, operands, result, imm::Extern{.symbol = build_.string(symbol)});
}

}  // namespace tandem::lower
