// Selection, minimum and maximum, and the math functions, which work on fp32 and fp64.
#include "compiler/frontend/semantic/typed_op.h"
#include <map>

namespace tandem::frontend::semantic {
namespace {

namespace arith = mlir::arith;
namespace math = mlir::math;

constexpr DType bf16{Scalar::Bf16};

// Triton compares bf16 in fp32, and the result stays fp32.
Tensor widenBf16(Context& context, const Value& value) {
  Tensor tensor = toTensor(context, value);
  return tensor.type.dtype == bf16 ? cast(context, tensor, fp32) : tensor;
}

struct Extremum {
  Tensor (*propagating)(Context&, const Tensor&, const Tensor&);
  Tensor (*quiet)(Context&, const Tensor&, const Tensor&);
  Tensor (*onSigned)(Context&, const Tensor&, const Tensor&);
  Tensor (*onUnsigned)(Context&, const Tensor&, const Tensor&);
};
template <class Op> Tensor combine(Context& context, const Tensor& a, const Tensor& b) {
  return elementwise<Op>(context, a, b);
}

constexpr Extremum smallest{combine<arith::MinimumFOp>, combine<arith::MinNumFOp>, combine<arith::MinSIOp>,
                            combine<arith::MinUIOp>};
constexpr Extremum largest{combine<arith::MaximumFOp>, combine<arith::MaxNumFOp>, combine<arith::MaxSIOp>,
                           combine<arith::MaxUIOp>};

Tensor extremum(Context& context, const Extremum& which, const Value& x, const Value& y, bool propagateNan) {
  auto [a, b] = unify(context, widenBf16(context, x), widenBf16(context, y));
  DType dtype = a.type.dtype;
  if (dtype.isInt()) return (dtype.isSigned() ? which.onSigned : which.onUnsigned)(context, a, b);
  auto op = propagateNan ? which.propagating : which.quiet;
  return cast(context, op(context, computable(context, a), computable(context, b)), dtype);
}

[[noreturn]] void failMath(Context& context, const std::string& name, const Tensor& tensor) {
  context.fail("type-mismatch", "`" + name + "` needs `fp32` or `fp64`, not `" + tensor.type.dtype.name() +
                                    "`; convert with `.to(tl.float32)`");
}

void needFloat(Context& context, const std::string& name, const Tensor& tensor) {
  if (tensor.type.dtype != fp32 && tensor.type.dtype != fp64) failMath(context, name, tensor);
}

using Unary = Tensor (*)(Context&, const Tensor&);
template <class Op> Tensor apply(Context& context, const Tensor& tensor) { return elementwise<Op>(context, tensor); }

const std::map<std::string, Unary>& unaryOps() {
  static const std::map<std::string, Unary> ops{{"exp", apply<math::ExpOp>},
                                                {"exp2", apply<math::Exp2Op>},
                                                {"expm1", apply<math::ExpM1Op>},
                                                {"log", apply<math::LogOp>},
                                                {"log2", apply<math::Log2Op>},
                                                {"log10", apply<math::Log10Op>},
                                                {"log1p", apply<math::Log1pOp>},
                                                {"sin", apply<math::SinOp>},
                                                {"cos", apply<math::CosOp>},
                                                {"tan", apply<math::TanOp>},
                                                {"asin", apply<math::AsinOp>},
                                                {"acos", apply<math::AcosOp>},
                                                {"atan", apply<math::AtanOp>},
                                                {"sinh", apply<math::SinhOp>},
                                                {"cosh", apply<math::CoshOp>},
                                                {"tanh", apply<math::TanhOp>},
                                                {"asinh", apply<math::AsinhOp>},
                                                {"acosh", apply<math::AcoshOp>},
                                                {"atanh", apply<math::AtanhOp>},
                                                {"sqrt", apply<math::SqrtOp>},
                                                {"sqrt_rn", apply<math::SqrtOp>},
                                                {"rsqrt", apply<math::RsqrtOp>},
                                                {"cbrt", apply<math::CbrtOp>},
                                                {"erf", apply<math::ErfOp>},
                                                {"erfc", apply<math::ErfcOp>},
                                                {"floor", apply<math::FloorOp>},
                                                {"ceil", apply<math::CeilOp>},
                                                {"trunc", apply<math::TruncOp>},
                                                {"round", apply<math::RoundOp>},
                                                {"rint", apply<math::RoundEvenOp>},
                                                {"nearbyint", apply<math::RoundEvenOp>}};
  return ops;
}

}  // namespace

Tensor where(Context& context, const Value& conditionValue, const Value& x, const Value& y) {
  Tensor chosen = toTensor(context, conditionValue);
  if (!chosen.type.dtype.isBool()) {
    context.warn("non-bool-condition", "`tl.where` has a condition of type `" + chosen.type.dtype.name() +
                                           "`, not `int1`; it is true where not zero");
    chosen = nonZero(context, chosen);
  }
  auto [a, b] = unify(context, x, y, true);
  if (a.type.dtype != b.type.dtype)
    context.fail("type-mismatch",
                 "`where` chooses between `" + a.type.dtype.name() + "` and `" + b.type.dtype.name() + "`");
  if (chosen.type.isScalar()) return elementwiseSelect(context, chosen, a, b);
  std::tie(chosen, a) = broadcast(context, chosen, a);
  std::tie(a, b) = broadcast(context, a, b);
  return elementwiseSelect(context, chosen, a, b);
}

Tensor elementwiseSelect(Context& context, const Tensor& condition, const Tensor& a, const Tensor& b) {
  return {arith::SelectOp::create(context.builder, context.loc(), condition.value, a.value, b.value), a.type};
}

Tensor minimum(Context& context, const Value& x, const Value& y, bool propagateNan) {
  return extremum(context, smallest, x, y, propagateNan);
}
Tensor maximum(Context& context, const Value& x, const Value& y, bool propagateNan) {
  return extremum(context, largest, x, y, propagateNan);
}

Tensor clamp(Context& context, const Value& x, const Value& min, const Value& max, bool propagateNan) {
  Tensor input = toTensor(context, x);
  if (!input.type.dtype.isFloat()) context.fail("type-mismatch", "`clamp` needs floats, not a " + describe(input));
  return minimum(context, maximum(context, input, min, propagateNan), max, propagateNan);
}

Tensor abs(Context& context, const Value& x) {
  Tensor input = toTensor(context, x);
  DType dtype = input.type.dtype;
  if (dtype.isFloat()) return cast(context, elementwise<math::AbsFOp>(context, computable(context, input)), dtype);
  if (dtype.isSigned()) return elementwise<math::AbsIOp>(context, input);
  if (dtype.isUnsigned()) return input;
  context.fail("type-mismatch", "`abs` needs numbers, not a " + describe(input));
}

Tensor fma(Context& context, const Value& x, const Value& y, const Value& z) {
  auto [a, b] = unify(context, x, y);
  Tensor c;
  std::tie(c, a) = unify(context, z, a);
  std::tie(c, b) = unify(context, c, b);
  std::tie(a, b) = unify(context, a, b);
  if (!a.type.dtype.isFloat()) context.fail("type-mismatch", "`fma` needs floats, not a " + describe(a));
  DType dtype = a.type.dtype;
  return cast(context,
              elementwise<math::FmaOp>(context, computable(context, a), computable(context, b), computable(context, c)),
              dtype);
}

Tensor umulhi(Context& context, const Value& x, const Value& y) {
  auto [a, b] = unify(context, x, y);
  if (!a.type.dtype.isInt() || a.type.dtype.bitWidth() < 32)
    context.fail("type-mismatch", "`umulhi` needs 32-bit or 64-bit integers, not a " + describe(a));
  return {tile::MulHiUIOp::create(context.builder, context.loc(), a.value, b.value), a.type};
}

Tensor fdiv(Context& context, const Value& x, const Value& y) {
  auto [a, b] = unify(context, x, y);
  if (!a.type.dtype.isFloat())
    context.fail("type-mismatch", "`fdiv` needs floats, not " + describe(x) + " and " + describe(y));
  DType dtype = a.type.dtype;
  return cast(context, elementwise<arith::DivFOp>(context, computable(context, a), computable(context, b)), dtype);
}

Tensor mathUnary(Context& context, const std::string& name, const Value& x) {
  auto op = unaryOps().find(name);
  if (op == unaryOps().end()) context.fail("unknown-function", "there is no math function `" + name + "`");
  Tensor input = toTensor(context, x);
  needFloat(context, name, input);
  return op->second(context, input);
}

}  // namespace tandem::frontend::semantic
