// Comparisons and choices: set, setp, selp, slct.
#include "compiler/lower/sim/ptx/assembler.h"
#include "compiler/lower/sim/ptx/families.h"

namespace tandem::lower {
using namespace interpreter;
namespace {

struct Comparison {
  const char* name;
  std::optional<CompareOp> onSigned, onUnsigned, onFloats;
};
using C = CompareOp;

// For floats, a plain comparison with NaN is false except `.ne`; one that ends in `u` is true.
const Comparison kComparisons[] = {
    {"eq", C::Eq, C::Eq, C::OEq},   {"ne", C::Ne, C::Ne, C::ONe},   {"lt", C::SLt, C::ULt, C::OLt},
    {"le", C::SLe, C::ULe, C::OLe}, {"gt", C::SGt, C::UGt, C::OGt}, {"ge", C::SGe, C::UGe, C::OGe},
    {"lo", {}, C::ULt, {}},         {"ls", {}, C::ULe, {}},         {"hi", {}, C::UGt, {}},
    {"hs", {}, C::UGe, {}},         {"equ", {}, {}, C::UEq},        {"neu", {}, {}, C::UNe},
    {"ltu", {}, {}, C::ULtF},       {"leu", {}, {}, C::ULeF},       {"gtu", {}, {}, C::UGtF},
    {"geu", {}, {}, C::UGeF},       {"num", {}, {}, C::Ord},        {"nan", {}, {}, C::Uno},
};

CompareOp takeCompareOp(Assembler& a, PtxType t) {
  for (const Comparison& c : kComparisons) {
    std::optional<CompareOp> op = t.isFloat() ? c.onFloats : t.kind == 's' ? c.onSigned : c.onUnsigned;
    bool orders = op != C::Eq && op != C::Ne;
    if (op && (t.kind != 'b' || !orders) && a.take(c.name)) return *op;
  }
  a.fail("it needs a comparison that its type has");
}

Register invertedPredicate(Assembler& a, Register p) { return a.binaryWith(BinaryOp::Xor, p, 1); }

// The comparison joined with a third predicate by `.and`, `.or` or `.xor`; `inverse`, when asked for, is that of its
// negation.
Register joined(Assembler& a, Register compared, size_t third, Register* inverse) {
  llvm::StringRef with = a.takeOneOf({"and", "or", "xor"});
  a.expectOperands(third + !with.empty(), third + !with.empty());
  Register negated = invertedPredicate(a, compared);
  if (!with.empty()) {
    Register other = a.bits(third, {'p', Elem::I1, 1, 1});
    BinaryOp op = with == "and" ? BinaryOp::And : with == "or" ? BinaryOp::Or : BinaryOp::Xor;
    compared = a.binary(op, compared, other);
    negated = a.binary(op, negated, other);
  }
  *inverse = negated;
  return compared;
}

void flushBoth(Assembler& a, Register& x, Register& y) {
  if (!a.take("ftz")) return;
  x = flushed(a, x);
  y = flushed(a, y);
}

// The low halves for the first predicate, the high ones for the second.
void setPredicatesOfHalves(Assembler& a, PtxType t) {
  a.expectOperands(3, 3);
  const ptx::Operand& to = a.operand(0);
  if (t.elem == Elem::F32 || to.kind != ptx::Operand::Kind::Pair) a.fail("it compares halves for two predicates");
  Register x = a.value(1, t), y = a.value(2, t);
  bool flushes = a.take("ftz");
  CompareOp op = takeCompareOp(a, t);
  for (unsigned k = 0; k < 2; ++k) {
    Register left = a.bitcast(a.part(x, k, 16), t.elem), right = a.bitcast(a.part(y, k, 16), t.elem);
    if (flushes) left = flushed(a, left), right = flushed(a, right);
    a.write(to.parts[k], a.compare(op, left, right), {'p', Elem::I1, 1, 1});
  }
}

void setPredicate(Assembler& a) {
  PtxType t = a.takeType();
  if (t.parts > 1) return setPredicatesOfHalves(a, t);
  Register x = a.value(1, t), y = a.value(2, t), inverse;
  flushBoth(a, x, y);
  Register result = joined(a, a.compare(takeCompareOp(a, t), x, y), 3, &inverse);
  const ptx::Operand& to = a.operand(0);
  constexpr PtxType predicate{'p', Elem::I1, 1, 1};
  if (to.kind != ptx::Operand::Kind::Pair) return a.write(0, result, predicate);
  a.write(to.parts[0], result, predicate);
  a.write(to.parts[1], inverse, predicate);
}

// All ones or zeros; 1.0 or 0.0 for `.f32`.
void setValue(Assembler& a) {
  auto types = a.takeTypes(2);
  if (types[0].bits != 32 || types[0].parts > 1 || types[1].parts > 1) a.fail("it sets 32 bits");
  Register x = a.value(1, types[1]), y = a.value(2, types[1]), inverse;
  flushBoth(a, x, y);
  Register result = joined(a, a.compare(takeCompareOp(a, types[1]), x, y), 3, &inverse);
  Register yes = a.constant(Elem::I32, types[0].isFloat() ? 0x3f800000u : 0xffffffffu);
  a.write(0, a.select(result, yes, a.constant(Elem::I32, 0)), types[0]);
}

void selectByPredicate(Assembler& a) {
  PtxType t = a.takeType();
  a.expectOperands(4, 4);
  a.write(0, a.select(a.bits(3, {'p', Elem::I1, 1, 1}), a.value(1, t), a.value(2, t)), t);
}

// Its first value where the last operand is not negative.
void selectBySign(Assembler& a) {
  auto types = a.takeTypes(2);
  a.expectOperands(4, 4);
  Register by = a.value(3, types[1]);
  if (a.take("ftz")) by = flushed(a, by);
  Register zero = a.constant(types[1].elem, 0);
  Register first = a.compare(types[1].isFloat() ? C::OGe : C::SGe, by, zero);
  a.write(0, a.select(first, a.value(1, types[0]), a.value(2, types[0])), types[0]);
}

}  // namespace

void addCompares(PtxTable& table) {
  table["setp"] = {setPredicate};
  table["set"] = {setValue};
  table["selp"] = {selectByPredicate};
  table["slct"] = {selectBySign};
}

}  // namespace tandem::lower
