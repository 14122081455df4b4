// Bits: logic, shifts, fields, counts, permutations of bytes.
#include "compiler/lower/sim/ptx/assembler.h"

namespace tandem::lower {
using namespace interpreter;
namespace {

constexpr PtxType kWord{'b', Elem::I32, 32, 1};

template <BinaryOp op>
void logic(Assembler& a) {
  PtxType t = a.takeType();
  a.expectOperands(3, 3);
  a.write(0, a.binary(op, a.value(1, t), a.value(2, t)), t);
}

void invert(Assembler& a) {
  PtxType t = a.takeType();
  a.expectOperands(2, 2);
  a.write(0, a.binaryWith(BinaryOp::Xor, a.value(1, t), t.kind == 'p' ? 1 : ~uint64_t{0}), t);
}

void isZero(Assembler& a) {
  PtxType t = a.takeType();
  a.expectOperands(2, 2);
  a.write(0, a.resize(a.compareWith(CompareOp::Eq, a.value(1, t), 0), t.elem, false), t);
}

// Amounts are words, whatever is shifted; from its width on, they shift all out.
template <bool left>
void shift(Assembler& a) {
  PtxType t = a.takeType();
  a.expectOperands(3, 3);
  Register amount = a.binaryWith(BinaryOp::MinU, a.value(2, kWord), 64);
  BinaryOp op = left ? BinaryOp::Shl : t.kind == 's' ? BinaryOp::ShrS : BinaryOp::ShrU;
  a.write(0, a.binary(op, a.value(1, t), a.resize(amount, t.elem, false)), t);
}

// A window of 32 bits on the 64 of two words.
void funnelShift(Assembler& a) {
  a.takeType();
  a.expectOperands(4, 4);
  bool left = a.take("l");
  if (!left && !a.take("r")) a.fail("it shifts `.l` or `.r`");
  bool wraps = a.take("wrap");
  if (!wraps && !a.take("clamp")) a.fail("it needs `.wrap` or `.clamp`");
  Register both = a.packed({a.value(1, kWord), a.value(2, kWord)}), by = a.value(3, kWord);
  by = wraps ? a.binaryWith(BinaryOp::And, by, 31) : a.binaryWith(BinaryOp::MinU, by, 32);
  Register moved = a.binary(left ? BinaryOp::Shl : BinaryOp::ShrU, both, a.resize(by, Elem::I64, false));
  a.write(0, a.part(moved, left, 32), kWord);
}

// The table's 8 bits as an exclusive sum of products of a, b and c.
void lookUp3(Assembler& a) {
  a.takeType();
  a.expectOperands(5, 5);
  uint64_t table = a.immediate(4);
  if (table > 255) a.fail("its table has 8 bits");
  Register inputs[3] = {a.value(3, kWord), a.value(2, kWord), a.value(1, kWord)};  // bits 0, 1, 2 of the table's index
  for (unsigned k = 0; k < 3; ++k)
    for (unsigned i = 0; i < 8; ++i)
      if (i >> k & 1) table ^= (table >> (i ^ 1u << k) & 1) << i;
  Register sum = a.constant(Elem::I32, 0);
  for (unsigned i = 0; i < 8; ++i) {
    if (!(table >> i & 1)) continue;
    Register term = a.constant(Elem::I32, 0xffffffffu);
    for (unsigned k = 0; k < 3; ++k)
      if (i >> k & 1) term = a.binary(BinaryOp::And, term, inputs[k]);
    sum = a.binary(BinaryOp::Xor, sum, term);
  }
  a.write(0, sum, kWord);
}

// 0xff in each byte of the result whose selector asks for the sign of the byte it names.
Register signsAsked(Assembler& a, Register selector) {
  Register asked = a.constant(Elem::I32, 0);
  for (unsigned k = 0; k < 4; ++k) {
    Register bit = a.binaryWith(BinaryOp::And, a.binaryWith(BinaryOp::ShrU, selector, 4 * k + 3), 1);
    asked = a.binary(BinaryOp::Or, asked, a.binaryWith(BinaryOp::Shl, a.binaryWith(BinaryOp::MulI, bit, 0xff), 8 * k));
  }
  return asked;
}

void permuteBytes(Assembler& a) {
  a.takeType();
  a.expectOperands(4, 4);
  Register low = a.value(1, kWord), high = a.value(2, kWord), selector = a.value(3, kWord);
  Register bytes = a.call("__nv_byte_perm", {low, high, selector}, Elem::I32);
  if (std::optional<uint64_t> known = a.knownInteger(3); !known || (*known & 0x8888)) {
    Register asked = signsAsked(a, selector);
    Register signs = a.binaryWith(BinaryOp::And, a.binaryWith(BinaryOp::ShrU, bytes, 7), 0x01010101);
    signs = a.binaryWith(BinaryOp::MulI, signs, 0xff);
    Register kept = a.binary(BinaryOp::And, bytes, a.binaryWith(BinaryOp::Xor, asked, 0xffffffffu));
    bytes = a.binary(BinaryOp::Or, kept, a.binary(BinaryOp::And, signs, asked));
  }
  a.write(0, bytes, kWord);
}

void reverse(Assembler& a) {
  PtxType t = a.takeType();
  a.expectOperands(2, 2);
  a.write(0, a.call(t.bits == 64 ? "__nv_brevll" : "__nv_brev", {a.value(1, t)}, t.elem), t);
}

template <UnaryOp op>
void count(Assembler& a) {
  PtxType t = a.takeType();
  a.expectOperands(2, 2);
  a.write(0, a.resize(a.unary(op, a.value(1, t)), Elem::I32, false), kWord);
}

// The highest bit that differs from the sign; all ones for none.
void findHighest(Assembler& a) {
  PtxType t = a.takeType();
  a.expectOperands(2, 2);
  bool asShift = a.take("shiftamt");
  Register x = a.value(1, t);
  if (t.kind == 's') x = a.binary(BinaryOp::Xor, x, a.binaryWith(BinaryOp::ShrS, x, t.bits - 1));
  Register zeros = a.resize(a.unary(UnaryOp::Ctlz, x), Elem::I32, false);
  Register found = a.binary(BinaryOp::SubI, a.constant(Elem::I32, t.bits - 1), zeros);
  if (asShift) found = a.select(a.compareWith(CompareOp::Eq, x, 0), a.constant(Elem::I32, 0xffffffffu), zeros);
  a.write(0, found, kWord);
}

// An operand's low 8 bits, as wide as the value.
Register byteOf(Assembler& a, size_t i, PtxType t) {
  return a.resize(a.binaryWith(BinaryOp::And, a.value(i, kWord), 0xff), t.elem, false);
}

void extractField(Assembler& a) {
  PtxType t = a.takeType();
  a.expectOperands(4, 4);
  Register x = a.value(1, t), from = byteOf(a, 2, t), length = byteOf(a, 3, t), result;
  if (t.kind == 's') {
    Register end = a.binaryWith(BinaryOp::MinU, a.binary(BinaryOp::AddI, from, length), t.bits);
    Register above = a.binary(BinaryOp::SubI, a.constant(t.elem, t.bits), end);
    result = a.binary(BinaryOp::ShrS, a.binary(BinaryOp::Shl, x, above), a.binary(BinaryOp::AddI, above, from));
    result = a.select(a.compareWith(CompareOp::Eq, length, 0), length, result);
  } else {
    Register ones = a.binaryWith(BinaryOp::SubI, a.binary(BinaryOp::Shl, a.constant(t.elem, 1), length), 1);
    result = a.binary(BinaryOp::And, a.binary(BinaryOp::ShrU, x, from), ones);
  }
  a.write(0, result, t);
}

void insertField(Assembler& a) {
  PtxType t = a.takeType();
  a.expectOperands(5, 5);
  Register field = a.value(1, t), into = a.value(2, t), from = byteOf(a, 3, t), length = byteOf(a, 4, t);
  Register ones = a.binaryWith(BinaryOp::SubI, a.binary(BinaryOp::Shl, a.constant(t.elem, 1), length), 1);
  Register mask = a.binary(BinaryOp::Shl, ones, from);
  Register kept = a.binary(BinaryOp::And, into, a.binaryWith(BinaryOp::Xor, mask, ~uint64_t{0}));
  Register put = a.binary(BinaryOp::And, a.binary(BinaryOp::Shl, field, from), mask);
  a.write(0, a.binary(BinaryOp::Or, kept, put), t);
}

}  // namespace

void addBits(PtxTable& table) {
  table["and"] = {logic<BinaryOp::And>};
  table["or"] = {logic<BinaryOp::Or>};
  table["xor"] = {logic<BinaryOp::Xor>};
  table["not"] = {invert};
  table["cnot"] = {isZero};
  table["shl"] = {shift<true>};
  table["shr"] = {shift<false>};
  table["shf"] = {funnelShift};
  table["lop3"] = {lookUp3};
  table["prmt"] = {permuteBytes};
  table["brev"] = {reverse};
  table["popc"] = {count<UnaryOp::Ctpop>};
  table["clz"] = {count<UnaryOp::Ctlz>};
  table["bfind"] = {findHighest};
  table["bfe"] = {extractField};
  table["bfi"] = {insertField};
}

}  // namespace tandem::lower
