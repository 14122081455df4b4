// Integer arithmetic: add, sub, mul, mad, sad, div, rem, abs, neg, min, max, dp4a.
#include "compiler/lower/sim/ptx/assembler.h"
#include "compiler/lower/sim/ptx/families.h"

namespace tandem::lower {
using namespace interpreter;
namespace {

bool isSigned(PtxType t) { return t.kind == 's'; }

// a + b or a - b, held at the ends of the range.
Register saturated(Assembler& a, BinaryOp op, Register x, Register y) {
  auto wide = [&](Register r) { return a.resize(r, Elem::I64, true); };
  Register sum = a.binary(op, wide(x), wide(y));
  sum = a.binaryWith(BinaryOp::MinS, sum, 0x7fffffffu);
  return a.resize(a.binaryWith(BinaryOp::MaxS, sum, 0xffffffff80000000u), Elem::I32, true);
}

struct Product {
  Register low, high;
};
Product multiply(Assembler& a, PtxType t, Register x, Register y) {
  Product p{a.fresh(t.elem), a.fresh(t.elem)};
  a.build().emit({Op::MulExtended, isSigned(t), t.elem}, {x, y}, {p.low, p.high});
  return p;
}

PtxType twice(PtxType t) {
  t.bits *= 2;
  t.elem = t.bits == 32 ? Elem::I32 : Elem::I64;
  return t;
}

// The part of the product that `.lo`, `.hi` or `.wide` names; `out` is its type.
Register product(Assembler& a, PtxType t, PtxType* out, Register x, Register y) {
  llvm::StringRef which = a.takeOneOf({"lo", "hi", "wide"});
  *out = which == "wide" ? twice(t) : t;
  if (which.empty()) a.fail("a product of integers is `.lo`, `.hi` or `.wide`");
  if (which == "lo") return a.binary(BinaryOp::MulI, x, y);
  if (which == "hi") return multiply(a, t, x, y).high;
  if (t.bits == 64) a.fail("a product of 64 bits cannot be `.wide`");
  return a.binary(BinaryOp::MulI, a.resize(x, out->elem, isSigned(t)), a.resize(y, out->elem, isSigned(t)));
}

void mul(Assembler& a, PtxType t) {
  a.expectOperands(3, 3);
  PtxType out;
  Register p = product(a, t, &out, a.value(1, t), a.value(2, t));
  a.write(0, p, out);
}

void mad(Assembler& a, PtxType t) {
  a.expectOperands(4, 4);
  PtxType out;
  Register p = product(a, t, &out, a.value(1, t), a.value(2, t));
  a.write(0, a.binary(BinaryOp::AddI, p, a.value(3, out)), out);
}

template <BinaryOp op>
void addLike(Assembler& a, PtxType t) {
  a.expectOperands(3, 3);
  bool saturates = a.take("sat");
  if (saturates && (t.kind != 's' || t.bits != 32)) a.fail("only `.s32` has `.sat`");
  Register x = a.value(1, t), y = a.value(2, t);
  a.write(0,
          a.eachPart(t, {x, y},
                     [&](Assembler::Registers p) {
                       return saturates ? saturated(a, op, p[0], p[1]) : a.binary(op, p[0], p[1]);
                     }),
          t);
}

template <BinaryOp onSigned, BinaryOp onUnsigned>
void twoOperands(Assembler& a, PtxType t) {
  a.expectOperands(3, 3);
  bool relu = a.take("relu");
  if (relu && !isSigned(t)) a.fail("only signed integers have `.relu`");
  Register x = a.value(1, t), y = a.value(2, t);
  a.write(0,
          a.eachPart(t, {x, y},
                     [&](Assembler::Registers p) {
                       Register r = a.binary(isSigned(t) ? onSigned : onUnsigned, p[0], p[1]);
                       return relu ? a.binaryWith(BinaryOp::MaxS, r, 0) : r;
                     }),
          t);
}

void absolute(Assembler& a, PtxType t) {
  a.expectOperands(2, 2);
  a.write(0, a.unary(UnaryOp::AbsI, a.value(1, t)), t);
}

void negate(Assembler& a, PtxType t) {
  a.expectOperands(2, 2);
  Register x = a.value(1, t);
  a.write(0, a.binary(BinaryOp::SubI, a.constant(t.elem, 0), x), t);
}

void distance(Assembler& a) {
  PtxType t = a.takeType();
  a.expectOperands(4, 4);
  Register x = a.value(1, t), y = a.value(2, t);
  Register above = a.compare(isSigned(t) ? CompareOp::SGt : CompareOp::UGt, x, y);
  Register apart = a.select(above, a.binary(BinaryOp::SubI, x, y), a.binary(BinaryOp::SubI, y, x));
  a.write(0, a.binary(BinaryOp::AddI, apart, a.value(3, t)), t);
}

// The product of the low 24 bits: its bits 0 to 31, or 16 to 47.
Register product24(Assembler& a, PtxType t) {
  bool high = a.take("hi");
  if (!high && !a.take("lo")) a.fail("a product of 24 bits is `.lo` or `.hi`");
  auto low24 = [&](Register r) {
    Register up = a.binaryWith(BinaryOp::Shl, a.resize(r, Elem::I64, false), 40);
    return a.binaryWith(isSigned(t) ? BinaryOp::ShrS : BinaryOp::ShrU, up, 40);
  };
  Register whole = a.binary(BinaryOp::MulI, low24(a.value(1, t)), low24(a.value(2, t)));
  return a.resize(high ? a.binaryWith(BinaryOp::ShrU, whole, 16) : whole, Elem::I32, false);
}

void mul24(Assembler& a) {
  PtxType t = a.takeType();
  a.expectOperands(3, 3);
  a.write(0, product24(a, t), t);
}

void mad24(Assembler& a) {
  PtxType t = a.takeType();
  a.expectOperands(4, 4);
  a.write(0, a.binary(BinaryOp::AddI, product24(a, t), a.value(3, t)), t);
}

// The sum of the products of four bytes, each operand's of its own sign.
void dp4a(Assembler& a) {
  auto types = a.takeTypes(2);
  a.expectOperands(4, 4);
  Register sum = a.value(3, types[0]), x = a.value(1, types[0]), y = a.value(2, types[1]);
  for (unsigned k = 0; k < 4; ++k) {
    Register left = a.resize(a.part(x, k, 8), Elem::I32, isSigned(types[0]));
    Register right = a.resize(a.part(y, k, 8), Elem::I32, isSigned(types[1]));
    sum = a.binary(BinaryOp::AddI, sum, a.binary(BinaryOp::MulI, left, right));
  }
  a.write(0, sum, types[0]);
}

// Chooses by the type: floats have instructions of the same names.
template <void (*onIntegers)(Assembler&, PtxType), void (*onFloats)(Assembler&, PtxType)>
void byType(Assembler& a) {
  PtxType t = a.takeType();
  if (t.isFloat()) return onFloats(a, t);
  if (t.kind == 'b') a.fail("it needs `.u` or `.s`");
  onIntegers(a, t);
}

}  // namespace

void addIntegers(PtxTable& table) {
  table["add"] = {byType<addLike<BinaryOp::AddI>, floatAdd>};
  table["sub"] = {byType<addLike<BinaryOp::SubI>, floatSub>};
  table["mul"] = {byType<mul, floatMul>};
  table["mad"] = {byType<mad, floatFma>};
  table["div"] = {byType<twoOperands<BinaryOp::DivS, BinaryOp::DivU>, floatDiv>};
  table["rem"] = {byType<twoOperands<BinaryOp::RemS, BinaryOp::RemU>, noFloat>};
  table["min"] = {byType<twoOperands<BinaryOp::MinS, BinaryOp::MinU>, floatMin>};
  table["max"] = {byType<twoOperands<BinaryOp::MaxS, BinaryOp::MaxU>, floatMax>};
  table["abs"] = {byType<absolute, floatAbs>};
  table["neg"] = {byType<negate, floatNeg>};
  table["sad"] = {distance};
  table["mul24"] = {mul24};
  table["mad24"] = {mad24};
  table["dp4a"] = {dp4a};
}

}  // namespace tandem::lower
