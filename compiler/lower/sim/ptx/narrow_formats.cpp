// Conversions of the formats that no register has: tf32, pairs of 4-bit floats (e2m1), pairs of exponents (ue8m0).
#include "compiler/lower/sim/ptx/conversions.h"

namespace tandem::lower {
using namespace interpreter;
namespace {

constexpr PtxType kFloat{'f', Elem::F32, 32, 1}, kByte{'b', Elem::I8, 8, 1}, kHalf{'b', Elem::I16, 16, 1},
    kWord{'b', Elem::I32, 32, 1};

Register bitsOf(Assembler& a, Register x) { return a.bitcast(x, Elem::I32); }
Register magnitude(Assembler& a, Register bits) { return a.binaryWith(BinaryOp::And, bits, 0x7fffffffu); }
Register word(Assembler& a, Register flag) { return a.resize(flag, Elem::I32, false); }

// The 13 low bits go: to nearest with ties to even or away from zero, or cut off.
void toTf32(Assembler& a, const CvtMode& mode) {
  a.expectOperands(2, 2);
  Register bits = bitsOf(a, floatToFloat(a, {.rounding = {}, .relu = mode.relu}, Elem::F32, a.value(1, kFloat)));
  Register rounded = bits;
  if (mode.rounding == "rna")
    rounded = a.binaryWith(BinaryOp::AddI, bits, 0x1000);
  else if (mode.rounding == "rn")
    rounded = a.binary(BinaryOp::AddI, bits,
                       a.binary(BinaryOp::AddI, a.binaryWith(BinaryOp::And, a.binaryWith(BinaryOp::ShrU, bits, 13), 1),
                                a.constant(Elem::I32, 0xfff)));
  else if (mode.rounding != "rz")
    a.fail("it needs `.rn`, `.rna` or `.rz`");
  rounded = a.binaryWith(BinaryOp::And, rounded, 0xffffe000u);
  if (mode.finite) {
    Register sign = a.binaryWith(BinaryOp::And, rounded, 0x80000000u);
    Register overflows = a.compareWith(CompareOp::UGe, magnitude(a, rounded), 0x7f800000u);
    rounded = a.select(overflows, a.binaryWith(BinaryOp::Or, sign, 0x7f7fe000u), rounded);
  }
  Register isNan = a.compareWith(CompareOp::UGt, magnitude(a, bits), 0x7f800000u);
  a.write(0, a.select(isNan, a.constant(Elem::I32, 0x7fffffffu), rounded), kWord);
}

// Sign and 3 bits that count the values passed: 0.5, 1, 1.5, 2, 3, 4, 6. Halfway the even code wins; NaN becomes 6.
Register toE2m1(Assembler& a, Register x) {
  Register bits = bitsOf(a, x), size = magnitude(a, bits), code = a.constant(Elem::I32, 0);
  struct Step {
    uint32_t from;
    bool withTie;
  };
  constexpr Step steps[] = {{0x3e800000u, false}, {0x3f400000u, true}, {0x3fa00000u, false}, {0x3fe00000u, true},
                            {0x40200000u, false}, {0x40600000u, true}, {0x40a00000u, false}};
  for (Step step : steps)
    code = a.binary(BinaryOp::AddI, code,
                    word(a, a.compareWith(step.withTie ? CompareOp::UGe : CompareOp::UGt, size, step.from)));
  Register isNan = a.compareWith(CompareOp::UGt, size, 0x7f800000u);
  Register sign = a.binaryWith(BinaryOp::ShrU, a.binaryWith(BinaryOp::And, bits, 0x80000000u), 28);
  sign = a.select(isNan, a.constant(Elem::I32, 0), sign);
  return a.binary(BinaryOp::Or, code, sign);
}

void packE2m1(Assembler& a, const CvtMode& mode) {
  if (mode.rounding != "rn" || !mode.finite) a.fail("it needs `.rn.satfinite`");
  a.takeTypes(1);
  a.expectOperands(3, 3);
  Register codes[2];
  for (unsigned k = 0; k < 2; ++k)
    codes[k] = toE2m1(a, floatToFloat(a, {.rounding = {}, .relu = mode.relu}, Elem::F32, a.value(2 - k, kFloat)));
  Register both = a.binary(BinaryOp::Or, codes[0], a.binaryWith(BinaryOp::Shl, codes[1], 4));
  a.write(0, a.resize(both, Elem::I8, false), kByte, Width::Wider);
}

// The code's exponent and fraction stand in those of a half, which is then 2^14 too small.
Register fromE2m1(Assembler& a, Register code) {
  Register sign = a.binaryWith(BinaryOp::Shl, a.binaryWith(BinaryOp::And, code, 8), 12);
  Register small = a.binaryWith(BinaryOp::Shl, a.binaryWith(BinaryOp::And, code, 7), 9);
  Register bits = a.resize(a.binary(BinaryOp::Or, sign, small), Elem::I16, false);
  return a.binary(BinaryOp::MulF, a.bitcast(bits, Elem::F16), a.constant(Elem::F16, 0x7400u));
}

void unpackE2m1(Assembler& a) {
  PtxType to = a.takeType();
  if (to.elem != Elem::F16 || to.parts != 2) a.fail("it gives `.f16x2`");
  a.expectOperands(2, 2);
  Register codes = a.resize(a.bits(1, kByte, Width::Wider), Elem::I32, false);
  a.write(0, a.packed({fromE2m1(a, codes), fromE2m1(a, a.binaryWith(BinaryOp::ShrU, codes, 4))}), to);
}

// The exponent of the magnitude, next above for `.rp`; all ones for NaN.
Register toExponent(Assembler& a, const CvtMode& mode, Register x) {
  Register size = magnitude(a, bitsOf(a, x)), code = a.binaryWith(BinaryOp::ShrU, size, 23);
  if (mode.rounding == "rp") {
    Register hasFraction = a.compareWith(CompareOp::Ne, a.binaryWith(BinaryOp::And, size, 0x7fffffu), 0);
    Register aboveLeast = a.compareWith(CompareOp::UGt, size, 0x400000u);  // 2^-127, whose code is 0
    code = a.binary(BinaryOp::AddI, code, word(a, a.binary(BinaryOp::And, hasFraction, aboveLeast)));
  }
  Register isNan = a.compareWith(CompareOp::UGt, size, 0x7f800000u);
  if (mode.finite) code = a.binaryWith(BinaryOp::MinU, code, 0xfe);
  return a.select(isNan, a.constant(Elem::I32, 0xff), code);
}

void packExponents(Assembler& a, const CvtMode& mode) {
  if (mode.rounding != "rz" && mode.rounding != "rp") a.fail("it needs `.rz` or `.rp`");
  PtxType from = a.takeType();
  bool apart = from.parts == 1;
  if (apart ? from.elem != Elem::F32 : from.elem != Elem::BF16) a.fail("it takes `.f32` or `.bf16x2`");
  a.expectOperands(apart ? 3 : 2, apart ? 3 : 2);
  Register codes[2];
  for (unsigned k = 0; k < 2; ++k) {
    Register x = apart ? a.value(2 - k, from)
                       : a.convert(ConvertOp::FToF, a.bitcast(a.part(a.bits(1, from), k, 16), Elem::BF16), Elem::F32);
    codes[k] = toExponent(a, mode, x);
  }
  Register both = a.binary(BinaryOp::Or, codes[0], a.binaryWith(BinaryOp::Shl, codes[1], 8));
  a.write(0, a.resize(both, Elem::I16, false), kHalf);
}

// 2^(code - 127): the code is the exponent of a bf16; 0 stands for its subnormal 2^-127.
void unpackExponents(Assembler& a) {
  PtxType to = a.takeType();
  if (to.elem != Elem::BF16 || to.parts != 2) a.fail("it gives `.bf16x2`");
  a.expectOperands(2, 2);
  Register codes = a.resize(a.bits(1, kHalf), Elem::I32, false), parts[2];
  for (unsigned k = 0; k < 2; ++k) {
    Register code = a.binaryWith(BinaryOp::And, a.binaryWith(BinaryOp::ShrU, codes, 8 * k), 0xff);
    Register bits = a.binaryWith(BinaryOp::Shl, code, 7);
    bits = a.select(a.compareWith(CompareOp::Eq, code, 0), a.constant(Elem::I32, 0x40), bits);
    bits = a.select(a.compareWith(CompareOp::Eq, code, 0xff), a.constant(Elem::I32, 0x7fff), bits);
    parts[k] = a.resize(bits, Elem::I16, false);
  }
  a.write(0, a.packed(parts), to);
}

}  // namespace

bool convertNarrowFormat(Assembler& a, const CvtMode& mode) {
  // The type that comes first is the result's.
  bool makesPair = a.isFirst("e2m1x2"), makesExponents = a.isFirst("ue8m0x2");
  if (a.take("tf32"))
    a.takeTypes(1), toTf32(a, mode);
  else if (a.take("e2m1x2"))
    makesPair ? packE2m1(a, mode) : unpackE2m1(a);
  else if (a.take("ue8m0x2"))
    makesExponents ? packExponents(a, mode) : unpackExponents(a);
  else
    return false;
  return true;
}

}  // namespace tandem::lower
