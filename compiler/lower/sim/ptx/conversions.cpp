// cvt: between integers, between integers and floats, between floats; narrow formats are in narrow_formats.cpp.
#include "compiler/lower/sim/ptx/assembler.h"
#include "compiler/lower/sim/ptx/conversions.h"
#include "compiler/lower/sim/ptx/families.h"

namespace tandem::lower {
using namespace interpreter;
namespace {

bool isSigned(PtxType t) { return t.kind == 's'; }

// Integers to integers: through 64 bits, held at the ends of the narrower range when it saturates.
Register integerToInteger(Assembler& a, const CvtMode& mode, PtxType to, PtxType from, Register x) {
  if (!mode.saturate) return a.resize(x, to.elem, isSigned(from));
  Register wide = a.resize(x, Elem::I64, isSigned(from));
  uint64_t top = isSigned(to)    ? (uint64_t{1} << (to.bits - 1)) - 1
                 : to.bits == 64 ? ~uint64_t{0}
                                 : (uint64_t{1} << to.bits) - 1;
  uint64_t bottom = isSigned(to) ? ~top : 0;
  if (isSigned(from)) {
    wide = a.binaryWith(BinaryOp::MaxS, wide, bottom);
    if (top >> 63 == 0) wide = a.binaryWith(BinaryOp::MinS, wide, top);
  } else {
    wide = a.binaryWith(BinaryOp::MinU, wide, top);
  }
  return a.resize(wide, to.elem, false);
}

Register roundedToWhole(Assembler& a, const CvtMode& mode, Register x) {
  if (mode.rounding == "rni") return a.unary(UnaryOp::RoundEven, x);
  if (mode.rounding == "rmi") return a.unary(UnaryOp::Floor, x);
  if (mode.rounding == "rpi") return a.unary(UnaryOp::Ceil, x);
  return a.unary(UnaryOp::Trunc, x);
}

Register floatToInteger(Assembler& a, const CvtMode& mode, PtxType to, Register x) {
  if (mode.flush) x = flushed(a, x);
  if (mode.rounding.size() != 3) a.fail("it needs `.rni`, `.rzi`, `.rmi` or `.rpi`");
  return a.convert(isSigned(to) ? ConvertOp::FToS : ConvertOp::FToU, roundedToWhole(a, mode, x), to.elem);
}

Register integerToFloat(Assembler& a, const CvtMode& mode, PtxType to, PtxType from, Register x) {
  if (mode.rounding.empty() || mode.rounding.size() == 3) a.fail("it needs `.rn`, `.rz`, `.rm` or `.rp`");
  Register made;
  if (mode.rounding == "rn") {
    made = a.convert(isSigned(from) ? ConvertOp::SToF : ConvertOp::UToF, x, to.elem);
  } else {
    if (to.elem != Elem::F32 && to.elem != Elem::F64) a.fail("the simulator rounds integers to halves by `.rn` alone");
    bool exact = to.elem == Elem::F64 && from.bits < 64;
    if (exact) return a.convert(isSigned(from) ? ConvertOp::SToF : ConvertOp::UToF, x, to.elem);
    Elem wide = from.bits == 64 ? Elem::I64 : Elem::I32;
    std::string name = std::string("__nv_") + (isSigned(from) ? "" : "u") + (from.bits == 64 ? "ll" : "int") + "2" +
                       (to.elem == Elem::F64 ? "double" : "float") +
                       (mode.rounding == "rz"   ? "_rz"
                        : mode.rounding == "rm" ? "_rd"
                                                : "_ru");
    made = a.call(name.c_str(), {a.resize(x, wide, isSigned(from))}, to.elem);
  }
  return mode.saturate ? saturatedToOne(a, made) : made;
}

bool isNarrower(Elem to, Elem from) {
  return byteSize(to) < byteSize(from) || (byteSize(to) == 2 && byteSize(from) == 2 && to != from);
}

// The largest finite value in place of infinity, a NaN as it is.
Register finite(Assembler& a, Register x, Elem elem) {
  uint64_t top = elem == Elem::F16 ? 0x7bffu : 0x7f7fu;
  Register bits = a.bitcast(x, Elem::I16);
  Register isInfinite = a.unary(UnaryOp::IsInf, x);
  Register sign = a.binaryWith(BinaryOp::And, bits, 0x8000u);
  return a.bitcast(a.select(isInfinite, a.binaryWith(BinaryOp::Or, sign, top), bits), elem);
}

Register narrowed(Assembler& a, const CvtMode& mode, Elem to, Register x) {
  Elem from = a.elemOf(x);
  if (mode.rounding == "rm" || mode.rounding == "rp") {
    if (from != Elem::F64 || to != Elem::F32) a.fail("the simulator rounds to halves by `.rn` and `.rz` alone");
    return a.call(mode.rounding == "rm" ? "__nv_double2float_rd" : "__nv_double2float_ru", {x}, to);
  }
  return a.convert(mode.rounding == "rz" ? ConvertOp::FToFRtz : ConvertOp::FToF, x, to);
}

void packIntegers(Assembler& a) {
  if (!a.take("sat")) a.fail("it needs `.sat`");
  auto types = a.takeTypes(a.operandCount() == 4 ? 3 : 2);
  CvtMode mode;
  mode.saturate = true;
  PtxType to = types[0], from = types[1];
  a.expectOperands(types.size() + 1, types.size() + 1);
  Register high = integerToInteger(a, mode, to, from, a.value(1, from)),
           low = integerToInteger(a, mode, to, from, a.value(2, from));
  Register both = a.resize(a.packed({low, high}), Elem::I32, false);
  constexpr PtxType word{'b', Elem::I32, 32, 1};
  if (types.size() == 3)
    both = a.binary(BinaryOp::Or, both, a.binaryWith(BinaryOp::Shl, a.value(3, word), 2 * to.bits));
  a.write(0, both, word);
}

void convertOne(Assembler& a, const CvtMode& mode, PtxType to, PtxType from) {
  a.expectOperands(2, 2);
  Register x = a.value(1, from, Width::Wider);
  Register made = from.isFloat() ? (to.isFloat() ? floatToFloat(a, mode, to.elem, x) : floatToInteger(a, mode, to, x))
                  : to.isFloat() ? integerToFloat(a, mode, to, from, x)
                                 : integerToInteger(a, mode, to, from, x);
  a.write(0, made, to, Width::Wider);
}

// Two values to two narrower ones: from two registers, the first of which is the upper, or from the parts of one.
void convertTwo(Assembler& a, const CvtMode& mode, PtxType to, PtxType from) {
  bool apart = from.parts == 1;
  a.expectOperands(apart ? 3 : 2, apart ? 3 : 2);
  Register parts[2];
  Register word = apart ? kNone : a.bits(1, from);
  for (unsigned k = 0; k < 2; ++k) {
    Register x = apart ? a.value(2 - k, from) : a.bitcast(a.part(word, k, from.bits / 2), from.elem);
    parts[k] = floatToFloat(a, mode, to.elem, x);
  }
  a.write(0, a.packed(parts), to);
}

void convert(Assembler& a) {
  if (a.take("pack")) return packIntegers(a);
  CvtMode mode = takeCvtMode(a);
  if (convertNarrowFormat(a, mode)) return;
  auto types = a.takeTypes(2);
  if (types[0].kind == 'b' || types[1].kind == 'b') a.fail("it converts no `.b`");
  if (types[0].parts == 2) return convertTwo(a, mode, types[0], types[1]);
  if (types[1].parts == 2) a.fail("it makes two values of two");
  convertOne(a, mode, types[0], types[1]);
}

}  // namespace

CvtMode takeCvtMode(Assembler& a) {
  CvtMode mode;
  mode.rounding = a.takeOneOf({"rni", "rzi", "rmi", "rpi", "rna", "rn", "rz", "rm", "rp"});
  mode.flush = a.take("ftz");
  mode.saturate = a.take("sat");
  mode.finite = a.take("satfinite");
  mode.relu = a.take("relu");
  return mode;
}

Register floatToFloat(Assembler& a, const CvtMode& mode, Elem to, Register x) {
  Elem from = a.elemOf(x);
  if (mode.rounding == "rna") a.fail("only `.tf32` rounds by `.rna`");
  bool narrows = isNarrower(to, from);
  if (narrows && (mode.rounding.empty() || mode.rounding.size() == 3)) a.fail("it needs a rounding");
  bool eight = to == Elem::F8E4M3FN || to == Elem::F8E5M2;
  if (eight && !mode.finite) a.fail("8-bit floats need `.satfinite`");
  if (mode.flush && from == Elem::F32) x = flushed(a, x);
  if (mode.relu) x = notNegative(a, x);
  if (mode.rounding.size() == 3) x = roundedToWhole(a, mode, x);
  if (to != from) x = narrows ? narrowed(a, mode, to, x) : a.convert(ConvertOp::FToF, x, to);
  if (mode.finite && (to == Elem::F16 || to == Elem::BF16)) x = finite(a, x, to);
  if (mode.flush && to == Elem::F32) x = flushed(a, x);
  return mode.saturate ? saturatedToOne(a, x) : x;
}

void addConversions(PtxTable& table) { table["cvt"] = {convert}; }

}  // namespace tandem::lower
