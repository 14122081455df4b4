// Python numbers as tensors, and arguments that must be constants of compile time.
#include "compiler/frontend/semantic/fold.h"
#include "compiler/frontend/semantic/typed_op.h"
#include <bit>
#include <cmath>
#include <limits>

namespace tandem::frontend::semantic {
namespace {

constexpr int64_t maxElements = 1048576;

[[noreturn]] void failConstant(Context& context, const Value& value, const std::string& what, const char* wanted) {
  if (value.isTensor())
    context.failConstexpr(
        context.place.range,
        "`" + what + "` must be " + wanted + " known when the kernel is compiled, not a " + describe(value), value);
  context.fail("type-mismatch", "`" + what + "` must be " + wanted + ", not " + describe(value));
}

DType typeOfInt(Context& context, Int value) {
  Int one = 1;
  if (value >= -(one << 31) && value < (one << 31)) return int32;
  if (value >= 0 && value < (one << 32)) return {Scalar::UInt32};
  if (value >= -(one << 63) && value < (one << 63)) return int64;
  if (value >= 0 && value < (one << 64)) return {Scalar::UInt64};
  context.fail("out-of-range", "integer " + repr(Value(value)) + " does not fit in 64 bits");
}

DType typeOfFloat(double value) {
  double size = std::fabs(value);
  bool fits = std::isnan(value) || std::isinf(value) || size == 0 ||
              (size >= std::numeric_limits<float>::min() && size <= double(std::numeric_limits<float>::max()));
  return fits ? fp32 : fp64;
}

Int integerOf(Context& context, const Value& number, DType dtype) {
  if (!number.is<double>()) return intOf(number);
  double value = number.as<double>();
  if (std::trunc(value) == value && std::fabs(value) < 0x1p64) return Int(value);
  context.fail("out-of-range", "cannot make an `" + dtype.name() + "` of " + repr(number));
}

Tensor intConstant(Context& context, const Value& number, DType dtype) {
  Int value = integerOf(context, number, dtype);
  if (dtype.isBool()) value = value != 0;
  Int one = 1;
  int bits = dtype.bitWidth();
  Int low = dtype.isSigned() ? -(one << (bits - 1)) : 0, high = (one << (dtype.isSigned() ? bits - 1 : bits)) - 1;
  if (value < low || value > high)
    context.fail("out-of-range", "scalar " + repr(number) + " is out of range of `" + dtype.name() + "`");
  mlir::Type type = dtype.toMLIR(context.builder.getContext());
  auto attribute = mlir::IntegerAttr::get(
      type, llvm::APInt(unsigned(bits), uint64_t(value), /*isSigned=*/false, /*implicitTrunc=*/true));
  return {mlir::arith::ConstantOp::create(context.builder, context.loc(), attribute), {dtype, {}, 0}};
}

Tensor floatConstant(Context& context, const Value& number, DType dtype) {
  if (dtype.scalar == Scalar::Fp8E4B15) context.fail("unsupported-type", "`fp8e4b15` is not supported");
  auto attribute = mlir::FloatAttr::get(dtype.toMLIR(context.builder.getContext()), doubleOf(number));
  return {mlir::arith::ConstantOp::create(context.builder, context.loc(), attribute), {dtype, {}, 0}};
}

}  // namespace

DType numberType(Context& context, const Value& number) {
  if (number.is<bool>()) return int1;
  return number.is<Int>() ? typeOfInt(context, number.as<Int>()) : typeOfFloat(number.as<double>());
}

Tensor toTensor(Context& context, const Value& value) {
  if (value.isTensor()) return value.as<Tensor>();
  if (value.isNumber()) return constant(context, value, numberType(context, value));
  context.fail("type-mismatch", "expected a tensor or a number, not " + describe(value));
}

Tensor constant(Context& context, const Value& number, DType dtype) {
  if (!number.isNumber()) failConstant(context, number, "value", "a number");
  if (dtype.isPointer()) {
    Tensor address = intConstant(context, number, int64);
    return make<tile::IntToPtrOp>(context, {dtype, {}, 0}, address.value);
  }
  if (dtype.isFloat()) return floatConstant(context, number, dtype);
  if (dtype.isInt()) return intConstant(context, number, dtype);
  context.fail("type-mismatch", "cannot make a tensor of type `" + dtype.name() + "`");
}

Tensor full(Context& context, const std::vector<int64_t>& shape, const Value& value, DType dtype) {
  checkShape(context, shape, "shape");
  // An integer that does not fit wraps around, as a conversion does.
  bool wraps = dtype.isInt() && value.is<Int>();
  if (!value.isTensor())
    return splat(context, wraps ? cast(context, toTensor(context, value), dtype) : constant(context, value, dtype),
                 shape);
  const Tensor& tensor = value.as<Tensor>();
  if (!tensor.type.isScalar())
    context.fail("shape-mismatch", "`full` is filled with a scalar, not with " + describe(value));
  return splat(context, cast(context, tensor, dtype), shape);
}

Int constexprInt(Context& context, const Value& value, const std::string& what) {
  if (value.is<Int>() || value.is<bool>()) return intOf(value);
  failConstant(context, value, what, "an integer");
}

bool constexprBool(Context& context, const Value& value, const std::string& what) {
  if (value.isTensor()) failConstant(context, value, what, "a bool");
  return truth(context, value);
}

std::string constexprString(Context& context, const Value& value, const std::string& what) {
  if (value.is<std::string>()) return value.as<std::string>();
  failConstant(context, value, what, "a string");
}

DType constexprDType(Context& context, const Value& value, const std::string& what) {
  if (value.is<DType>()) return value.as<DType>();
  if (value.is<std::string>())
    if (std::optional<DType> dtype = DType::parse(value.as<std::string>())) return *dtype;
  failConstant(context, value, what, "a type");
}

std::vector<int64_t> constexprShape(Context& context, const Value& value, const std::string& what) {
  std::vector<int64_t> shape;
  for (const Value& element : listOf(value)) {
    Int size = constexprInt(context, element, what);
    if (size < 1 || size > maxElements)
      context.fail("shape", "`" + what + "` has size " + repr(Value(size)) + " in dimension " +
                                std::to_string(shape.size()) + "; sizes are 1 to " + std::to_string(maxElements));
    shape.push_back(int64_t(size));
  }
  checkShape(context, shape, what);
  return shape;
}

void checkShape(Context& context, const std::vector<int64_t>& shape, const std::string& what) {
  int64_t count = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t size = shape[i];
    if (size < 1 || (size & (size - 1)) != 0)
      context.failAt(context.place.range, "shape",
                     "`" + what + "` has size " + std::to_string(size) + " in dimension " + std::to_string(i) +
                         ", which is not a power of 2",
                     size < 1
                         ? ""
                         : "use " + std::to_string(std::bit_ceil(uint64_t(size))) + ", which `triton.next_power_of_2(" +
                               std::to_string(size) + ")` gives, and a mask for the elements beyond");
    if (size > maxElements / count)
      context.fail("shape", "`" + what + "` " + shapeText(shape) + " has more than " + std::to_string(maxElements) +
                                " elements");
    count *= size;
  }
}

std::vector<Value> listOf(const Value& value) {
  if (value.isTuple()) return value.elements();
  return {value};
}

}  // namespace tandem::frontend::semantic
