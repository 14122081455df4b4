// Conversions between types: of value and of bits.
#include "compiler/frontend/semantic/typed_op.h"

namespace tandem::frontend::semantic {
namespace {

[[noreturn]] void failCast(Context& context, DType from, DType to) {
  context.fail("type-mismatch", "cannot convert `" + from.name() + "` to `" + to.name() + "`");
}

void checkFormat(Context& context, DType dtype) {
  if (dtype == DType{Scalar::Fp8E4B15}) context.fail("unsupported-type", "`fp8e4b15` is not supported");
}

Tensor floatToFloat(Context& context, Tensor input, DType to, tile::Rounding rounding) {
  return make<tile::FpToFpOp>(context, retyped(input.type, to), input.value, rounding);
}

Tensor intToInt(Context& context, Tensor input, DType to) {
  Type type = retyped(input.type, to);
  int from = input.type.dtype.bitWidth(), width = to.bitWidth();
  if (from == width) return {input.value, type};
  if (from > width) return make<mlir::arith::TruncIOp>(context, type, input.value);
  if (input.type.dtype.isSigned()) return make<mlir::arith::ExtSIOp>(context, type, input.value);
  return make<mlir::arith::ExtUIOp>(context, type, input.value);
}

// Conversions between numbers of 8-bit floats and integers go through fp32.
Tensor floatToInt(Context& context, Tensor input, DType to) {
  input = computable(context, input);
  Type type = retyped(input.type, to);
  if (to.isSigned()) return make<mlir::arith::FPToSIOp>(context, type, input.value);
  return make<mlir::arith::FPToUIOp>(context, type, input.value);
}

Tensor intToFloat(Context& context, Tensor input, DType to) {
  Type type = retyped(input.type, to.isFp8() ? fp32 : to);
  Tensor number = input.type.dtype.isSigned() ? make<mlir::arith::SIToFPOp>(context, type, input.value)
                                              : make<mlir::arith::UIToFPOp>(context, type, input.value);
  return to.isFp8() ? floatToFloat(context, number, to, tile::Rounding::Rtne) : number;
}

Tensor castPointer(Context& context, Tensor input, DType to) {
  DType from = input.type.dtype;
  if (from.isPointer() && to.isPointer()) {
    Type type = retyped(input.type, to);  // `tl.const` is not in MLIR's types
    if (type.toMLIR(context.builder.getContext()) == input.value.getType()) return {input.value, type};
    return make<tile::BitcastOp>(context, type, input.value);
  }
  if (from.isPointer() && to.isInt() && to.bitWidth() == 64)
    return make<tile::PtrToIntOp>(context, retyped(input.type, to), input.value);
  if (from.isInt()) return make<tile::IntToPtrOp>(context, retyped(input.type, to), cast(context, input, int64).value);
  failCast(context, from, to);
}

bool truncates(DType from, DType to) { return from.isFloat() && to.isFloat() && from.bitWidth() > to.bitWidth(); }

}  // namespace

Tensor computable(Context& context, Tensor input) {
  checkFormat(context, input.type.dtype);
  return input.type.dtype.isFp8() ? floatToFloat(context, input, fp32, tile::Rounding::Rtne) : input;
}

Tensor nonZero(Context& context, Tensor input) {
  if (input.type.dtype.isBool()) return input;
  if (input.type.dtype.isPointer()) input = cast(context, input, int64);
  Value zero = input.type.dtype.isFloat() ? Value(0.0) : Value(Int(0));
  return compare(context, ast::CompareOp::Ne, input, zero).as<Tensor>();
}

Tensor cast(Context& context, Tensor input, DType to, tile::Rounding rounding) {
  DType from = input.type.dtype;
  if (from == to) return input;
  if (rounding != tile::Rounding::Rtne && !truncates(from, to))
    context.fail("unsupported", "`fp_downcast_rounding` is for conversions to a narrower float, not from `" +
                                    from.name() + "` to `" + to.name() + "`");
  checkFormat(context, from);
  checkFormat(context, to);
  if (to.isBool()) return nonZero(context, input);
  if (from.isPointer() || to.isPointer()) return castPointer(context, input, to);
  if (from.isFloat() && to.isFloat()) return floatToFloat(context, input, to, rounding);
  if (from.isInt() && to.isInt()) return intToInt(context, input, to);
  if (from.isFloat() && to.isInt()) return floatToInt(context, input, to);
  if (from.isInt() && to.isFloat()) return intToFloat(context, input, to);
  failCast(context, from, to);
}

Tensor bitcast(Context& context, Tensor input, DType to) {
  DType from = input.type.dtype;
  if (from == to) return input;
  if (from.isPointer() || to.isPointer()) return cast(context, input, to);
  if (to.scalar == Scalar::Void || from.scalar == Scalar::Void) failCast(context, from, to);
  if (from.bitWidth() != to.bitWidth())
    context.fail("type-mismatch", "cannot bitcast `" + from.name() + "` of " + std::to_string(from.bitWidth()) +
                                      " bits to `" + to.name() + "` of " + std::to_string(to.bitWidth()) + " bits");
  Type type = retyped(input.type, to);
  if (type.toMLIR(context.builder.getContext()) == input.value.getType()) return {input.value, type};
  return make<tile::BitcastOp>(context, type, input.value);
}

}  // namespace tandem::frontend::semantic
