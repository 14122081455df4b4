// This file decides the type in which two operands are computed, and converts them to it.
#include "compiler/frontend/semantic/fold.h"
#include "compiler/frontend/semantic/typed_op.h"

namespace tandem::frontend::semantic {
namespace {

constexpr DType bf16{Scalar::Bf16};

int kindOf(DType dtype) { return dtype.isBool() ? 0 : dtype.isInt() ? 1 : 2; }

DType promoteInts(DType a, DType b) {
  if (a.isSigned() == b.isSigned()) return a.bitWidth() > b.bitWidth() ? a : b;
  if (!a.isSigned()) return a.bitWidth() >= b.bitWidth() ? a : b;
  return b.bitWidth() >= a.bitWidth() ? b : a;
}

[[noreturn]] void failTypes(Context& context, DType a, DType b) {
  context.fail("type-mismatch", "invalid operands of type `" + a.name() + "` and `" + b.name() + "`");
}

void checkPointer(Context& context, DType a, DType b, bool allowed) {
  if (!a.isPointer()) return;
  if (!allowed || (b.isPointer() && a != b) || b.isFloat()) failTypes(context, a, b);
}

// A Python number in the type of the computation.
Tensor numberAs(Context& context, const Value& number, DType dtype) {
  bool negative = number.is<double>() ? number.as<double>() < 0 : intOf(number) < 0;
  if (negative && dtype.isUnsigned())
    context.fail("out-of-range", "cannot combine a tensor of `" + dtype.name() + "` with the negative number " +
                                     repr(number) + "; cast one of them explicitly");
  return constant(context, number, dtype);
}

DType dtypeOf(Context& context, const Value& operand) {
  if (operand.isTensor()) return operand.as<Tensor>().type.dtype;
  if (operand.isNumber()) return numberType(context, operand);
  context.fail("type-mismatch", "expected a tensor or a number, not " + describe(operand));
}

}  // namespace

DType promote(Context& context, DType a, bool aIsScalar, DType b, bool bIsScalar, bool divOrMod) {
  if (a.isPointer() || b.isPointer() || a.scalar == Scalar::Void || b.scalar == Scalar::Void) failTypes(context, a, b);
  auto widened = [&](DType dtype) { return divOrMod && (dtype == fp16 || dtype == bf16) ? fp32 : dtype; };
  auto either = [&](DType dtype) { return a == dtype || b == dtype; };
  if (aIsScalar != bIsScalar) {
    DType number = aIsScalar ? a : b, tensor = aIsScalar ? b : a;
    if (kindOf(number) <= kindOf(tensor)) return widened(tensor);
  }
  if (either(fp64)) return fp64;
  if (either(fp32)) return fp32;
  if (either(fp16)) return widened(fp16);
  if (a == bf16 && b == bf16) return widened(bf16);
  if (either(bf16)) return fp32;
  if (a.isFp8() && b.isFp8()) return a == b ? a : fp16;
  if (!a.isInt() || !b.isInt()) failTypes(context, a, b);
  if (divOrMod && a.isSigned() != b.isSigned())
    context.fail("type-mismatch",
                 "cannot use /, // or % with `" + a.name() + "` and `" + b.name() +
                     "` because they have different signedness; this is unlikely to result in a useful answer. "
                     "Cast them to the same signedness");
  return promoteInts(a, b);
}

std::pair<Tensor, Tensor> unify(Context& context, const Value& lhs, const Value& rhs, bool allowPointers,
                                bool divOrMod) {
  DType a = dtypeOf(context, lhs), b = dtypeOf(context, rhs);
  checkPointer(context, a, b, allowPointers);
  checkPointer(context, b, a, allowPointers);
  if (a.isPointer() || b.isPointer()) return broadcast(context, toTensor(context, lhs), toTensor(context, rhs));
  DType common = promote(context, a, lhs.isNumber(), b, rhs.isNumber(), divOrMod);
  Tensor left = lhs.isNumber() ? numberAs(context, lhs, common) : cast(context, lhs.as<Tensor>(), common);
  Tensor right = rhs.isNumber() ? numberAs(context, rhs, common) : cast(context, rhs.as<Tensor>(), common);
  return broadcast(context, left, right);
}

}  // namespace tandem::frontend::semantic
