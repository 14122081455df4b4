// Products of operands in a microscaling format: 8-bit exponents scale 32 elements of K each, fp8e4nv numbers 16
// (nvfp4).
#include "compiler/frontend/semantic/dot_operand.h"

namespace tandem::frontend::semantic {
namespace {

using tile::MicroScale;
constexpr DType uint8{Scalar::UInt8}, fp8e4nv{Scalar::Fp8E4NV};

MicroScale formatOf(Context& context, const Value& value, const std::string& what) {
  std::string text = constexprString(context, value, what);
  if (std::optional<MicroScale> format = tile::symbolizeMicroScale(text)) return *format;
  context.fail("unknown-option", "`" + what + "` \"" + text + "\" is not one of e2m1, e4m3, e5m2, bf16, fp16");
}

DType elementOf(MicroScale format) {
  switch (format) {
    case MicroScale::E2M1: return uint8;
    case MicroScale::E4M3: return {Scalar::Fp8E4NV};
    case MicroScale::E5M2: return {Scalar::Fp8E5};
    case MicroScale::Bf16: return {Scalar::Bf16};
    case MicroScale::Fp16: return fp16;
  }
  return uint8;
}

// Bits of the format that arrive as unsigned integers are read as the format.
Tensor inFormat(Context& context, Tensor operand, MicroScale format, const char* side) {
  DType wanted = elementOf(format), dtype = operand.type.dtype;
  if (dtype == wanted) return operand;
  bool isBits = dtype.isUnsigned() && dtype.bitWidth() == wanted.bitWidth();
  if (isBits && format != MicroScale::E2M1) return bitcast(context, operand, wanted);
  context.fail("type-mismatch", std::string("`dot_scaled` ") + side + " operand of format `" +
                                    tile::stringifyMicroScale(format).str() + "` has type `" + dtype.name() +
                                    "`, not `" + wanted.name() + "`");
}

void checkPacking(Context& context, MicroScale format, bool kPack, const char* side) {
  if (!kPack && format != MicroScale::E2M1)
    context.fail("unsupported", std::string("`dot_scaled` ") + side + " operand of format `" +
                                    tile::stringifyMicroScale(format).str() +
                                    "` cannot be packed along another dimension than K; only e2m1 can");
}

mlir::Value scaleOf(Context& context, const Value& value, std::vector<int64_t> shape, const char* side) {
  if (value.isNone()) return {};
  Tensor scale = dotOperand(context, value, "dot_scaled", side);
  if (scale.type.dtype != fp8e4nv && (!scale.type.dtype.isInt() || scale.type.dtype.bitWidth() != 8))
    context.fail("type-mismatch", std::string("`dot_scaled` ") + side + " scale has type `" + scale.type.dtype.name() +
                                      "`, neither `uint8` nor `fp8e4nv`");
  int64_t elementsPerScale = tile::elementsPerScale(scale.value);
  if (shape.back() % elementsPerScale != 0)
    context.fail("shape-mismatch", "`dot_scaled` has inner dimension " + std::to_string(shape.back()) +
                                       ", which is not a multiple of " + std::to_string(elementsPerScale));
  shape.back() /= elementsPerScale;
  if (scale.type.shape != shape)
    context.fail("shape-mismatch", std::string("`dot_scaled` ") + side + " scale has shape " +
                                       shapeText(scale.type.shape) + ", not " + shapeText(shape));
  return scale.value;
}

}  // namespace

Tensor dotScaled(Context& context, const Value& lhsValue, const Value& lhsScale, const Value& lhsFormat,
                 const Value& rhsValue, const Value& rhsScale, const Value& rhsFormat, const Value& acc,
                 const Value& fastMath, const Value& lhsKPack, const Value& rhsKPack, const Value& outDtype) {
  MicroScale left = formatOf(context, lhsFormat, "lhs_format"), right = formatOf(context, rhsFormat, "rhs_format");
  bool leftPack = lhsKPack.isNone() || constexprBool(context, lhsKPack, "lhs_k_pack");
  bool rightPack = rhsKPack.isNone() || constexprBool(context, rhsKPack, "rhs_k_pack");
  if (!fastMath.isNone()) constexprBool(context, fastMath, "fast_math");
  if (!outDtype.isNone() && constexprDType(context, outDtype, "out_dtype") != fp32)
    context.fail("unsupported-type", "`dot_scaled` gives `fp32`, not " + describe(outDtype));
  checkPacking(context, left, leftPack, "left");
  checkPacking(context, right, rightPack, "right");
  Tensor lhs = inFormat(context, dotOperand(context, lhsValue, "dot_scaled", "left"), left, "left");
  Tensor rhs = inFormat(context, dotOperand(context, rhsValue, "dot_scaled", "right"), right, "right");
  std::vector<int64_t> a = lhs.type.shape, b = rhs.type.shape;
  if (a.size() < 2 || b.size() < 2) productShape(context, "dot_scaled", a, b);
  if (left == MicroScale::E2M1) a[a.size() - (leftPack ? 1 : 2)] *= 2;
  if (right == MicroScale::E2M1) b[b.size() - (rightPack ? 2 : 1)] *= 2;
  Type type{fp32, productShape(context, "dot_scaled", a, b), 0};
  std::vector<int64_t> rightScale = b;
  std::swap(rightScale[b.size() - 1], rightScale[b.size() - 2]);
  mlir::Value aScale = scaleOf(context, lhsScale, a, "left"), bScale = scaleOf(context, rhsScale, rightScale, "right");
  Tensor sum = accumulator(context, "dot_scaled", acc, type);
  return make<tile::DotScaledOp>(context, type, lhs.value, aScale, rhs.value, bScale, sum.value, left, right, leftPack,
                                 rightPack);
}

}  // namespace tandem::frontend::semantic
