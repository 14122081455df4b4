// Floats: arithmetic with its rounding and ranges, and the approximate functions, which are computed here to full
// accuracy.
#include "compiler/lower/sim/ptx/assembler.h"
#include "compiler/lower/sim/ptx/families.h"

namespace tandem::lower {
using namespace interpreter;
namespace {

struct Mode {
  llvm::StringRef rounding;  // "rn", "rz", "rm", "rp", or empty
  bool flush = false, saturate = false, relu = false;
};

Mode takeMode(Assembler& a, PtxType t) {
  Mode mode;
  mode.rounding = a.takeOneOf({"rn", "rz", "rm", "rp"});
  mode.flush = a.take("ftz");
  mode.saturate = a.take("sat");
  mode.relu = a.take("relu");
  if (t.elem == Elem::F64 && (mode.flush || mode.saturate)) a.fail("`.f64` has neither `.ftz` nor `.sat`");
  bool halves = t.elem == Elem::F16 || t.elem == Elem::BF16;
  if (halves && !mode.rounding.empty() && mode.rounding != "rn") a.fail("halves round to nearest");
  if (t.elem == Elem::F8E4M3FN || t.elem == Elem::F8E5M2) a.fail("it does not calculate with 8-bit floats");
  return mode;
}

Register finished(Assembler& a, const Mode& mode, Register r) {
  if (mode.flush) r = flushed(a, r);
  if (mode.saturate) r = saturatedToOne(a, r);
  return mode.relu ? notNegative(a, r) : r;
}

// Operands 1 to `count`, each part through `apply`, under the mode.
void elementwise(Assembler& a, PtxType t, size_t count, const Mode& mode,
                 llvm::function_ref<Register(Assembler::Registers)> apply) {
  a.expectOperands(count + 1, count + 1);
  llvm::SmallVector<Register> operands;
  for (size_t i = 1; i <= count; ++i) operands.push_back(a.value(i, t));
  a.write(0,
          a.eachPart(t, operands,
                     [&](Assembler::Registers parts) {
                       llvm::SmallVector<Register> in(parts);
                       if (mode.flush)
                         for (Register& r : in) r = flushed(a, r);
                       return finished(a, mode, apply(in));
                     }),
          t);
}

bool roundsToNearest(const Mode& mode) { return mode.rounding.empty() || mode.rounding == "rn"; }

// The device library's function of the other roundings: `__nv_fadd_rz`.
Register roundedCall(Assembler& a, const Mode& mode, std::string name, Assembler::Registers in) {
  name += mode.rounding == "rz" ? "_rz" : mode.rounding == "rm" ? "_rd" : "_ru";
  return a.call(name.c_str(), in, a.elemOf(in[0]));
}
std::string onType(PtxType t, const char* name) {
  return std::string("__nv_") + (t.elem == Elem::F64 ? "d" : "f") + name;
}

void arithmetic(Assembler& a, PtxType t, BinaryOp op, const char* name) {
  Mode mode = takeMode(a, t);
  elementwise(a, t, 2, mode, [&](Assembler::Registers in) {
    return roundsToNearest(mode) ? a.binary(op, in[0], in[1]) : roundedCall(a, mode, onType(t, name), in);
  });
}

Register fused(Assembler& a, const Mode& mode, PtxType t, Assembler::Registers in) {
  if (roundsToNearest(mode)) return a.emit({Op::Fma, 0, t.elem}, in, t.elem);
  return roundedCall(a, mode, t.elem == Elem::F64 ? "__nv_fma" : "__nv_fmaf", in);
}

void least(Assembler& a, PtxType t, BinaryOp ignoresNan, BinaryOp keepsNan) {
  Mode mode = takeMode(a, t);
  bool nan = a.take("NaN"), sign = a.take("xorsign"), magnitude = a.take("abs");
  if (sign != magnitude) a.fail("`.xorsign` and `.abs` go together");
  elementwise(a, t, 2, mode, [&](Assembler::Registers in) {
    Register x = in[0], y = in[1];
    if (sign) x = a.unary(UnaryOp::AbsF, x), y = a.unary(UnaryOp::AbsF, y);
    Register r = a.binary(nan ? keepsNan : ignoresNan, x, y);
    if (!sign) return r;
    Elem word = t.elem == Elem::F32 ? Elem::I32 : Elem::I16;
    Register signs = a.binary(BinaryOp::Xor, a.bitcast(in[0], word), a.bitcast(in[1], word));
    signs = a.binaryWith(BinaryOp::And, signs, t.elem == Elem::F32 ? 0x80000000u : 0x8000u);
    return a.bitcast(a.binary(BinaryOp::Or, a.bitcast(r, word), signs), t.elem);
  });
}

void oneOperand(Assembler& a, PtxType t, llvm::function_ref<Register(const Mode&, Register)> apply) {
  Mode mode = takeMode(a, t);
  elementwise(a, t, 1, mode, [&](Assembler::Registers in) { return apply(mode, in[0]); });
}

Register one(Assembler& a, PtxType t) {
  return a.constant(t.elem, t.elem == Elem::F64 ? 0x3ff0000000000000u : 0x3f800000u);
}

PtxType floatType(Assembler& a) {
  PtxType t = a.takeType();
  if (!t.isFloat()) a.fail("it needs a type of floats");
  return t;
}

template <UnaryOp op>
void approximate(Assembler& a) {
  PtxType t = floatType(a);
  if (!a.take("approx")) a.fail("it needs `.approx`");
  oneOperand(a, t, [&](const Mode&, Register x) { return a.unary(op, x); });
}

// rcp and sqrt: `.approx`, or exact by a rounding.
void reciprocal(Assembler& a) {
  PtxType t = floatType(a);
  a.take("approx");
  if (t.bits < 32 || t.parts > 1) a.fail("it takes `.f32` or `.f64`");
  oneOperand(a, t, [&](const Mode& mode, Register x) {
    return roundsToNearest(mode) ? a.binary(BinaryOp::DivF, one(a, t), x) : roundedCall(a, mode, onType(t, "rcp"), {x});
  });
}

void squareRoot(Assembler& a) {
  PtxType t = floatType(a);
  a.take("approx");
  oneOperand(a, t, [&](const Mode& mode, Register x) {
    return roundsToNearest(mode) ? a.unary(UnaryOp::Sqrt, x) : roundedCall(a, mode, onType(t, "sqrt"), {x});
  });
}

// The magnitude of the second operand with the sign of the first.
void copySign(Assembler& a) {
  PtxType t = floatType(a);
  elementwise(a, t, 2, {}, [&](Assembler::Registers in) { return a.binary(BinaryOp::CopySign, in[1], in[0]); });
}

void testProperty(Assembler& a) {
  PtxType t = floatType(a);
  a.expectOperands(2, 2);
  Register x = a.value(1, t), result;
  if (a.take("finite"))
    result = a.unary(UnaryOp::IsFinite, x);
  else if (a.take("infinite"))
    result = a.unary(UnaryOp::IsInf, x);
  else if (a.take("notanumber"))
    result = a.unary(UnaryOp::IsNan, x);
  else if (a.take("number"))
    result = a.binaryWith(BinaryOp::Xor, a.unary(UnaryOp::IsNan, x), 1);
  else
    a.fail("it tests `.finite`, `.infinite`, `.number` or `.notanumber`");
  a.write(0, result, {'p', Elem::I1, 1, 1});
}

void fma(Assembler& a) { floatFma(a, floatType(a)); }

}  // namespace

Register flushed(Assembler& a, Register r) {
  Elem elem = a.elemOf(r);
  bool whole = elem == Elem::F32;
  Elem word = whole ? Elem::I32 : Elem::I16;
  Register bits = a.bitcast(r, word);
  Register magnitude = a.binaryWith(BinaryOp::And, bits, whole ? 0x7fffffffu : 0x7fffu);
  Register isSmall = a.compareWith(CompareOp::ULt, magnitude,
                                   whole               ? 0x00800000u
                                   : elem == Elem::F16 ? 0x0400u
                                                       : 0x0080u);
  Register zero = a.binaryWith(BinaryOp::And, bits, whole ? 0x80000000u : 0x8000u);
  return a.bitcast(a.select(isSmall, zero, bits), elem);
}

Register saturatedToOne(Assembler& a, Register r) {
  Elem elem = a.elemOf(r);
  Register top = a.constant(elem, elem == Elem::F32    ? 0x3f800000u
                                  : elem == Elem::F16  ? 0x3c00u
                                  : elem == Elem::BF16 ? 0x3f80u
                                                       : 0x3ff0000000000000u);
  return a.binary(BinaryOp::MinNumF, a.binary(BinaryOp::MaxNumF, r, a.constant(elem, 0)), top);
}

Register notNegative(Assembler& a, Register r) { return a.binary(BinaryOp::MaximumF, r, a.constant(a.elemOf(r), 0)); }

void noFloat(Assembler& a, PtxType) { a.fail("it has no floats"); }
void floatAdd(Assembler& a, PtxType t) { arithmetic(a, t, BinaryOp::AddF, "add"); }
void floatSub(Assembler& a, PtxType t) { arithmetic(a, t, BinaryOp::SubF, "sub"); }
void floatMul(Assembler& a, PtxType t) { arithmetic(a, t, BinaryOp::MulF, "mul"); }
void floatFma(Assembler& a, PtxType t) {
  Mode mode = takeMode(a, t);
  elementwise(a, t, 3, mode, [&](Assembler::Registers in) { return fused(a, mode, t, in); });
}
void floatDiv(Assembler& a, PtxType t) {
  if (!a.take("approx")) a.take("full");
  arithmetic(a, t, BinaryOp::DivF, "div");
}
void floatMin(Assembler& a, PtxType t) { least(a, t, BinaryOp::MinNumF, BinaryOp::MinimumF); }
void floatMax(Assembler& a, PtxType t) { least(a, t, BinaryOp::MaxNumF, BinaryOp::MaximumF); }
void floatAbs(Assembler& a, PtxType t) {
  oneOperand(a, t, [&](const Mode&, Register x) { return a.unary(UnaryOp::AbsF, x); });
}
void floatNeg(Assembler& a, PtxType t) {
  oneOperand(a, t, [&](const Mode&, Register x) { return a.unary(UnaryOp::NegF, x); });
}

void addFloats(PtxTable& table) {
  table["fma"] = {fma};
  table["rcp"] = {reciprocal};
  table["sqrt"] = {squareRoot};
  table["rsqrt"] = {approximate<UnaryOp::Rsqrt>};
  table["sin"] = {approximate<UnaryOp::Sin>};
  table["cos"] = {approximate<UnaryOp::Cos>};
  table["lg2"] = {approximate<UnaryOp::Log2>};
  table["ex2"] = {approximate<UnaryOp::Exp2>};
  table["tanh"] = {approximate<UnaryOp::Tanh>};
  table["copysign"] = {copySign};
  table["testp"] = {testProperty};
}

}  // namespace tandem::lower
