// Operands as registers of the width and kind that an instruction works in, and back.
#include "compiler/lower/sim/ptx/assembler.h"
#include <bit>

namespace tandem::lower {
using namespace interpreter;
namespace {

unsigned bitsOf(Elem elem) { return elem == Elem::I1 ? 1 : byteSize(elem) * 8; }

}  // namespace

Register Assembler::bits(const ptx::Operand& operand, PtxType type, Width width) {
  using Kind = ptx::Operand::Kind;
  Elem elem = integerOf(type.bits);
  auto fitted = [&](Register value, unsigned have) {
    if (have == type.bits) return value;
    if (width == Width::Wider && have > type.bits && type.bits > 1) return resize(value, elem, false);
    fail("`" + operand.name + "` has " + std::to_string(have) + " bits where " + std::to_string(type.bits) + " belong");
  };
  switch (operand.kind) {
    case Kind::Variable: {
      Register value = fitted(get(operand.variable), body_.variables[operand.variable].bits);
      return operand.negated ? binaryWith(BinaryOp::Xor, value, 1) : value;
    }
    case Kind::Special: {
      unsigned have = 0;
      Register value = special(operand.name, &have);
      return fitted(value, have);
    }
    case Kind::Integer:
      if (type.isFloat()) fail("a whole number stands where one of `.f` belongs");
      return constant(elem, operand.bits);
    case Kind::Real: {
      bool is64 = type.bits == 64;
      if (operand.realBits == type.bits) return constant(elem, operand.bits);
      if (operand.realBits || type.parts > 1 || (type.bits != 32 && !is64) || !type.isFloat())
        fail("a real number stands where an operand of `.b" + std::to_string(type.bits) + "` belongs");
      double number = std::bit_cast<double>(operand.bits);
      return constant(elem, is64 ? operand.bits : std::bit_cast<uint32_t>(static_cast<float>(number)));
    }
    default: fail("an operand is of the wrong form");
  }
}

Register Assembler::value(size_t i, PtxType type, Width width) {
  Register raw = bits(i, type, width);
  return type.parts == 1 ? bitcast(raw, type.elem) : raw;
}

void Assembler::write(const ptx::Operand& operand, Register value, PtxType type, Width width) {
  if (operand.kind == ptx::Operand::Kind::Sink) return;
  if (operand.kind != ptx::Operand::Kind::Variable || operand.negated) fail("a result needs a register");
  unsigned want = body_.variables[operand.variable].bits;
  Register raw = bitcast(value, integerOf(bitsOf(elemOf(value))));
  unsigned have = bitsOf(elemOf(raw));
  if (want != have) {
    if (width == Width::Exact || want < have || have == 1)
      fail("`" + operand.name + "` has " + std::to_string(want) + " bits where " + std::to_string(have) + " belong");
    raw = resize(raw, integerOf(want), type.kind == 's');
  }
  assign(operand.variable, raw);
}

Register Assembler::part(Register word, unsigned index, unsigned bits) {
  if (index) word = binaryWith(BinaryOp::ShrU, word, uint64_t(index) * bits);
  return resize(word, integerOf(bits), false);
}

// The first part is the lowest.
Register Assembler::packed(Registers parts) {
  unsigned bits = bitsOf(elemOf(parts[0]));
  Elem whole = integerOf(bits * static_cast<unsigned>(parts.size()));
  Register word = kNone;
  for (size_t i = 0; i < parts.size(); ++i) {
    Register moved = resize(bitcast(parts[i], integerOf(bits)), whole, false);
    if (i) moved = binaryWith(BinaryOp::Shl, moved, i * bits);
    word = i ? binary(BinaryOp::Or, word, moved) : moved;
  }
  return word;
}

Register Assembler::eachPart(PtxType type, Registers operands, llvm::function_ref<Register(Registers)> apply) {
  if (type.parts == 1) return apply(operands);
  llvm::SmallVector<Register> results;
  for (unsigned k = 0; k < type.parts; ++k) {
    llvm::SmallVector<Register> parts;
    for (Register word : operands) parts.push_back(bitcast(part(word, k, type.bits / type.parts), type.elem));
    results.push_back(apply(parts));
  }
  return packed(results);
}

std::optional<uint64_t> Assembler::knownInteger(size_t i) {
  const ptx::Operand& known = operand(i);
  if (known.kind != ptx::Operand::Kind::Integer) return std::nullopt;
  return known.bits;
}

uint64_t Assembler::immediate(size_t i) {
  if (std::optional<uint64_t> known = knownInteger(i)) return *known;
  fail("operand " + std::to_string(i) + " must be a number");
}

}  // namespace tandem::lower
