// Atomic updates and compare-and-swap.
#include "compiler/frontend/semantic/access.h"
#include "compiler/frontend/semantic/typed_op.h"

namespace tandem::frontend::semantic {
namespace {

using tile::Rmw;

struct Target {
  Tensor pointer, value;
  std::optional<Tensor> mask;
  tile::Semantic sem;
  tile::Scope scope;
};

[[noreturn]] void failAtomic(Context& context, const std::string& op, DType dtype) {
  context.fail("unsupported-type", "`atomic_" + op + "` does not support `" + dtype.name() + "`");
}

void checkElement(Context& context, const std::string& op, DType dtype) {
  bool half = dtype.isFloat() && dtype.bitWidth() == 16;
  if (dtype.scalar == Scalar::Void || dtype.bitWidth() < 16 || (half && op != "add") ||
      (dtype.isInt() && dtype.bitWidth() == 16))
    failAtomic(context, op, dtype);
  if (dtype.isPointer()) failAtomic(context, op, dtype);
}

Tensor matchShape(Context& context, const Tensor& pointer, Tensor operand, const std::string& what) {
  if (pointer.type.isScalar() && !operand.type.isScalar())
    context.fail("shape-mismatch", "`" + what + "` is a " + describe(operand) + " but the pointer is a scalar");
  return broadcastTo(context, operand, pointer.type.shape);
}

Tensor update(Context& context, Rmw op, const Target& target) {
  Type type = retyped(target.pointer.type, target.pointer.type.dtype.pointee());
  mlir::Value mask = target.mask ? target.mask->value : mlir::Value();
  return make<tile::AtomicRmwOp>(context, type, op, target.pointer.value, target.value.value, mask, target.sem,
                                 target.scope);
}

// The same update on the integers that hold the floats.
Target asInts(Context& context, Target target, DType dtype) {
  target.pointer = bitcast(context, target.pointer, dtype.pointerTo());
  target.value = bitcast(context, target.value, dtype);
  return target;
}

// Floats order like signed integers where they are positive, and like unsigned ones reversed where negative.
Tensor floatExtremum(Context& context, const std::string& op, const Target& target) {
  DType dtype = target.value.type.dtype;
  if (dtype != fp32 && dtype != fp64) failAtomic(context, op, dtype);
  DType signedInt = dtype == fp32 ? int32 : int64, unsignedInt{dtype == fp32 ? Scalar::UInt32 : Scalar::UInt64};
  Target asSigned = asInts(context, target, signedInt), asUnsigned = asInts(context, target, unsignedInt);
  using ast::BinaryOp;
  Value sign = binary(context, BinaryOp::RShift, asUnsigned.value, Int(dtype.bitWidth() - 1));
  Tensor negative = nonZero(context, sign.as<Tensor>()),
         positive = unary(context, ast::UnaryOp::Not, negative).as<Tensor>();
  auto narrowed = [&](const Tensor& side) {
    return target.mask ? binary(context, BinaryOp::And, *target.mask, side).as<Tensor>() : side;
  };
  asSigned.mask = narrowed(positive);
  asUnsigned.mask = narrowed(negative);
  Tensor fromPositive = update(context, op == "max" ? Rmw::Max : Rmw::Min, asSigned);
  Tensor fromNegative = update(context, op == "max" ? Rmw::UMin : Rmw::UMax, asUnsigned);
  return bitcast(context, elementwiseSelect(context, positive, fromPositive, bitcast(context, fromNegative, signedInt)),
                 dtype);
}

Rmw updateOf(Context& context, const std::string& op, DType dtype) {
  if (op == "add") return dtype.isFloat() ? Rmw::FAdd : Rmw::Add;
  if (op == "xchg") return Rmw::Xchg;
  if (op == "max") return dtype.isSigned() ? Rmw::Max : Rmw::UMax;
  if (op == "min") return dtype.isSigned() ? Rmw::Min : Rmw::UMin;
  if (dtype.isFloat()) failAtomic(context, op, dtype);
  if (op == "and") return Rmw::And;
  if (op == "or") return Rmw::Or;
  if (op == "xor") return Rmw::Xor;
  context.fail("unknown-function", "there is no `atomic_" + op + "`");
}

}  // namespace

Value atomicRmw(Context& context, const std::string& op, const Value& pointerValue, const Value& value,
                const Value& mask, const Value& sem, const Value& scope) {
  Tensor pointer = pointerOperand(context, pointerValue, "atomic_" + op);
  checkWritable(context, pointer.type.dtype, "atomic_" + op);
  DType dtype = pointer.type.dtype.pointee();
  checkElement(context, op, dtype);
  Tensor operand = matchShape(context, pointer, toTensor(context, value), "value");
  Target target{pointer, cast(context, operand, dtype), std::nullopt, semanticOf(context, sem),
                scopeOf(context, scope)};
  if (!mask.isNone()) target.mask = matchShape(context, pointer, nonZero(context, toTensor(context, mask)), "mask");
  if (dtype.isFloat() && (op == "max" || op == "min")) return floatExtremum(context, op, target);
  return update(context, updateOf(context, op, dtype), target);
}

Value atomicCas(Context& context, const Value& pointerValue, const Value& expected, const Value& value,
                const Value& sem, const Value& scope) {
  Tensor pointer = pointerOperand(context, pointerValue, "atomic_cas");
  checkWritable(context, pointer.type.dtype, "atomic_cas");
  DType dtype = pointer.type.dtype.pointee();
  if (dtype.isPointer() || dtype.bitWidth() < 16)
    context.fail("unsupported-type", "`atomic_cas` needs elements of 16, 32 or 64 bits, not `" + dtype.name() + "`");
  auto operand = [&](const Value& number, const char* what) {
    return cast(context, matchShape(context, pointer, toTensor(context, number), what), dtype);
  };
  Tensor before = operand(expected, "cmp"), after = operand(value, "val");
  return make<tile::AtomicCasOp>(context, before.type, pointer.value, before.value, after.value,
                                 semanticOf(context, sem), scopeOf(context, scope));
}

}  // namespace tandem::frontend::semantic
