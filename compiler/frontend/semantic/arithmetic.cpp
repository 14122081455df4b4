// The arithmetic operators on tensors. fp8 numbers are computed in fp32 and rounded back, since no target adds them.
#include "compiler/frontend/semantic/fold.h"
#include "compiler/frontend/semantic/typed_op.h"

namespace tandem::frontend::semantic {
namespace {

using ast::BinaryOp;
using Combine = Tensor (*)(Context&, const Tensor&, const Tensor&);
namespace arith = mlir::arith;

template <class Op> Tensor combine(Context& context, const Tensor& a, const Tensor& b) {
  return elementwise<Op>(context, a, b);
}

Tensor onFloats(Context& context, Combine op, Tensor a, Tensor b) {
  DType dtype = a.type.dtype;
  if (!dtype.isFp8()) return op(context, a, b);
  return cast(context, op(context, computable(context, a), computable(context, b)), dtype);
}

Tensor bySign(Context& context, Combine onSigned, Combine onUnsigned, const Tensor& a, const Tensor& b) {
  return a.type.dtype.isSigned() ? onSigned(context, a, b) : onUnsigned(context, a, b);
}

// The range of an integer type narrower than 64 bits.
std::pair<Int, Int> rangeOf(DType dtype) {
  Int values = Int(1) << dtype.bitWidth();
  return dtype.isSigned() ? std::pair(-values / 2, values / 2 - 1) : std::pair(Int(0), values - 1);
}

// Debug mode asserts that the result fits, as Triton does. Integers of 64 bits wrap there too.
template <class Op> Tensor onIntegers(Context& context, const Tensor& a, const Tensor& b, const char* name) {
  DType dtype = a.type.dtype;
  const CompileOptions& options = context.options;
  if (options.debug && options.assertsNoOverflow && !context.mayOverflow && dtype.isInt() && dtype.bitWidth() < 64) {
    Tensor exact = elementwise<Op>(context, cast(context, a, int64), cast(context, b, int64));
    auto [least, most] = rangeOf(dtype);
    Value fits = binary(context, BinaryOp::And, compare(context, ast::CompareOp::Ge, exact, least),
                        compare(context, ast::CompareOp::Le, exact, most));
    tile::AssertOp::create(context.builder, context.loc(), fits.as<Tensor>().value,
                           dtype.name() + " overflow detected for operation " + name, mlir::Value());
  }
  return elementwise<Op>(context, a, b);
}

bool isPointer(const Value& value) { return value.isTensor() && value.as<Tensor>().type.dtype.isPointer(); }

Tensor add(Context& context, const Value& lhs, const Value& rhs) {
  if (isPointer(lhs) && isPointer(rhs))
    context.fail("type-mismatch", "cannot add pointers: " + describe(lhs) + " and " + describe(rhs));
  if (isPointer(lhs)) return addPointer(context, lhs.as<Tensor>(), toTensor(context, rhs));
  if (isPointer(rhs)) return addPointer(context, rhs.as<Tensor>(), toTensor(context, lhs));
  auto [a, b] = unify(context, lhs, rhs);
  return a.type.dtype.isFloat() ? onFloats(context, combine<arith::AddFOp>, a, b)
                                : onIntegers<arith::AddIOp>(context, a, b, "add");
}

Tensor subtract(Context& context, const Value& lhs, const Value& rhs);

Tensor subtractFromPointer(Context& context, const Tensor& pointer, const Value& rhs) {
  if (isPointer(rhs)) failOperands(context, "-", pointer, rhs);
  Tensor offset = toTensor(context, rhs);
  if (offset.type.dtype.isUnsigned()) offset = cast(context, offset, int64);
  if (offset.type.dtype.isFloat()) failOperands(context, "-", pointer, rhs);
  return addPointer(context, pointer, subtract(context, Int(0), offset));
}

Tensor subtract(Context& context, const Value& lhs, const Value& rhs) {
  if (isPointer(lhs)) return subtractFromPointer(context, lhs.as<Tensor>(), rhs);
  auto [a, b] = unify(context, lhs, rhs);
  return a.type.dtype.isFloat() ? onFloats(context, combine<arith::SubFOp>, a, b)
                                : onIntegers<arith::SubIOp>(context, a, b, "sub");
}

Tensor multiply(Context& context, const Value& lhs, const Value& rhs) {
  auto [a, b] = unify(context, lhs, rhs);
  return a.type.dtype.isFloat() ? onFloats(context, combine<arith::MulFOp>, a, b)
                                : onIntegers<arith::MulIOp>(context, a, b, "mul");
}

Tensor divide(Context& context, const Value& lhs, const Value& rhs) {
  auto [a, b] = unify(context, lhs, rhs, false, true);
  if (a.type.dtype.isInt()) return elementwise<arith::DivFOp>(context, cast(context, a, fp32), cast(context, b, fp32));
  return onFloats(context, combine<arith::DivFOp>, a, b);
}

Tensor floorDivide(Context& context, const Value& lhs, const Value& rhs) {
  auto [a, b] = unify(context, lhs, rhs, false, true);
  if (!a.type.dtype.isInt())
    context.fail("type-mismatch", "`//` is for integers, not for " + describe(lhs) + " and " + describe(rhs) +
                                      "; use `tl.floor(x / y)`");
  return bySign(context, combine<arith::DivSIOp>, combine<arith::DivUIOp>, a, b);
}

Tensor modulo(Context& context, const Value& lhs, const Value& rhs) {
  auto [a, b] = unify(context, lhs, rhs, false, true);
  if (a.type.dtype.isFloat()) return onFloats(context, combine<arith::RemFOp>, a, b);
  return bySign(context, combine<arith::RemSIOp>, combine<arith::RemUIOp>, a, b);
}

// The shifted tensor's own type, before promotion, decides if `>>` repeats the sign.
Tensor shiftRight(Context& context, const Value& lhs, const Value& rhs, const Tensor& a, const Tensor& b) {
  const Tensor& decides = (lhs.isTensor() ? lhs : rhs).as<Tensor>();
  return decides.type.dtype.isSigned() ? combine<arith::ShRSIOp>(context, a, b)
                                       : combine<arith::ShRUIOp>(context, a, b);
}

Tensor bitwise(Context& context, BinaryOp op, const Value& lhs, const Value& rhs) {
  auto [a, b] = unify(context, lhs, rhs);
  if (!a.type.dtype.isInt()) failOperands(context, spelling(op), lhs, rhs);
  switch (op) {
    case BinaryOp::And: return elementwise<arith::AndIOp>(context, a, b);
    case BinaryOp::Or: return elementwise<arith::OrIOp>(context, a, b);
    case BinaryOp::Xor: return elementwise<arith::XOrIOp>(context, a, b);
    case BinaryOp::LShift: return elementwise<arith::ShLIOp>(context, a, b);
    default: return shiftRight(context, lhs, rhs, a, b);
  }
}

Tensor tensorBinary(Context& context, BinaryOp op, const Value& lhs, const Value& rhs) {
  switch (op) {
    case BinaryOp::Add: return add(context, lhs, rhs);
    case BinaryOp::Sub: return subtract(context, lhs, rhs);
    case BinaryOp::Mul: return multiply(context, lhs, rhs);
    case BinaryOp::Div: return divide(context, lhs, rhs);
    case BinaryOp::FloorDiv: return floorDivide(context, lhs, rhs);
    case BinaryOp::Mod: return modulo(context, lhs, rhs);
    case BinaryOp::Pow:
      context.fail("unsupported",
                   "`**` is not defined on tensors; use `tl.exp2(y * tl.log2(x))` or `libdevice.pow(x, y)`");
    case BinaryOp::MatMul: context.fail("unsupported", "`@` is not defined on tensors; use `tl.dot(x, y)`");
    default: return bitwise(context, op, lhs, rhs);
  }
}

bool isOperand(const Value& value) { return value.isTensor() || value.isNumber(); }

}  // namespace

Value binary(Context& context, BinaryOp op, const Value& lhs, const Value& rhs) {
  if (!lhs.isTensor() && !rhs.isTensor()) return foldBinary(context, op, lhs, rhs);
  if (!isOperand(lhs) || !isOperand(rhs)) failOperands(context, spelling(op), lhs, rhs);
  return tensorBinary(context, op, lhs, rhs);
}

Value unary(Context& context, ast::UnaryOp op, const Value& value) {
  if (!value.isTensor()) return foldUnary(context, op, value);
  const Tensor& tensor = value.as<Tensor>();
  DType dtype = tensor.type.dtype;
  if (op == ast::UnaryOp::Not)
    return elementwise<arith::XOrIOp>(context, nonZero(context, tensor),
                                      broadcastLike(context, true, retyped(tensor.type, int1)));
  if (dtype.isPointer() || (dtype.isFloat() && op == ast::UnaryOp::Invert))
    context.fail("type-mismatch",
                 std::string("unsupported operand of unary `") + spelling(op) + "`: " + describe(value));
  if (op == ast::UnaryOp::Pos) return value;
  if (op == ast::UnaryOp::Neg) return subtract(context, broadcastLike(context, Int(0), tensor.type), value);
  Int ones = dtype.isSigned() ? Int(-1) : (Int(1) << dtype.bitWidth()) - 1;
  return elementwise<arith::XOrIOp>(context, tensor, broadcastLike(context, ones, tensor.type));
}

Tensor addPointer(Context& context, Tensor pointer, Tensor offset) {
  DType dtype = offset.type.dtype;
  if (!dtype.isInt())
    context.fail("type-mismatch", "a pointer moves by an integer number of elements, not by a " + describe(offset));
  // The offset is read as signed, so a narrow unsigned one is widened first.
  if (dtype.isUnsigned() && dtype.bitWidth() < 64)
    offset = cast(context, offset, int64);
  else if (dtype.bitWidth() < 32)
    offset = cast(context, offset, int32);
  auto [a, b] = broadcast(context, pointer, offset);
  return {tile::AddPtrOp::create(context.builder, context.loc(), a.value, b.value), a.type};
}

}  // namespace tandem::frontend::semantic
