// Matrix products.
#include "compiler/frontend/semantic/dot_operand.h"

namespace tandem::frontend::semantic {
namespace {

constexpr DType bf16{Scalar::Bf16};

void checkElement(Context& context, DType dtype, const char* side) {
  bool known = dtype == int8 || dtype == fp16 || dtype == bf16 || dtype == fp32 || dtype == fp64 || dtype.isFp8();
  if (!known || dtype == DType{Scalar::Fp8E4B15})
    context.fail("unsupported-type", std::string("`dot` ") + side + " operand has type `" + dtype.name() +
                                         "`; it is int8, an fp8 type, fp16, bf16, fp32 or fp64");
}

void checkElements(Context& context, DType lhs, DType rhs) {
  checkElement(context, lhs, "left");
  checkElement(context, rhs, "right");
  if (lhs != rhs && !(lhs.isFp8() && rhs.isFp8()))
    context.failAt(context.place.range, "type-mismatch",
                   "`dot` operands have types `" + lhs.name() + "` and `" + rhs.name() + "`",
                   "convert one of them with `.to(...)`");
}

DType requestedType(Context& context, const DotOptions& options) {
  if (!options.outDtype.isNone()) return constexprDType(context, options.outDtype, "out_dtype");
  return options.acc.isTensor() ? options.acc.as<Tensor>().type.dtype : fp32;
}

DType resultType(Context& context, DType operand, DType requested) {
  if (operand.isInt()) return int32;
  if (requested == bf16)
    context.fail("unsupported-type", "`out_dtype` bf16 is not supported; use fp32 and convert with `.to(tl.bfloat16)`");
  if (operand == fp64) return fp64;
  if (operand == fp32 || operand == bf16) return fp32;
  if (requested == fp16 || requested == fp32) return requested;
  context.fail("unsupported-type",
               "`dot` of `" + operand.name() + "` gives fp32 or fp16, not `" + requested.name() + "`");
}

tile::Precision precisionOf(Context& context, const DotOptions& options) {
  std::string text = context.options.defaultDotPrecision;
  if (!options.inputPrecision.isNone() && !options.allowTf32.isNone())
    context.fail("conflicting-arguments", "`dot` has both `input_precision` and `allow_tf32`");
  if (!options.inputPrecision.isNone())
    text = constexprString(context, options.inputPrecision, "input_precision");
  else if (!options.allowTf32.isNone())  // a value of run time is true, as it is for Triton
    text = options.allowTf32.isTensor() || constexprBool(context, options.allowTf32, "allow_tf32") ? "tf32" : "ieee";
  for (char& c : text) c = char(std::tolower(static_cast<unsigned char>(c)));
  if (std::optional<tile::Precision> precision = tile::symbolizePrecision(text)) return *precision;
  context.fail("unknown-option", "`input_precision` \"" + text + "\" is not one of tf32, tf32x3, ieee, bf16x3, bf16x6");
}

uint32_t impreciseOf(Context& context, const DotOptions& options, DType operand, int64_t inner) {
  if (options.maxNumImpreciseAcc.isNone()) return 0;
  Int count = constexprInt(context, options.maxNumImpreciseAcc, "max_num_imprecise_acc");
  if (count < 0 || (operand.isFp8() && count > inner))
    context.fail("out-of-range", "`max_num_imprecise_acc` " + repr(Value(count)) +
                                     " is not between 0 and the inner dimension " + std::to_string(inner));
  return uint32_t(std::min(count, Int(inner)));
}

}  // namespace

Tensor dotOperand(Context& context, const Value& value, const char* name, const char* side) {
  if (!value.isTensor() || !value.as<Tensor>().type.isTile())
    context.fail("type-mismatch",
                 std::string("`") + name + "` " + side + " operand is " + describe(value) + ", not a tile");
  return value.as<Tensor>();
}

std::vector<int64_t> productShape(Context& context, const char* name, const std::vector<int64_t>& lhs,
                                  const std::vector<int64_t>& rhs) {
  size_t rank = lhs.size();
  if (rank != rhs.size() || rank < 2 || rank > 3)
    context.fail("shape-mismatch", std::string("`") + name + "` operands have shapes " + shapeText(lhs) + " and " +
                                       shapeText(rhs) + ", not both of rank 2 or 3");
  if (lhs[rank - 1] != rhs[rank - 2])
    context.fail("shape-mismatch", std::string("`") + name + "` operands have inner dimensions " +
                                       std::to_string(lhs[rank - 1]) + " and " + std::to_string(rhs[rank - 2]));
  if (rank == 3 && lhs[0] != rhs[0])
    context.fail("shape-mismatch", std::string("`") + name + "` operands have batch dimensions " +
                                       std::to_string(lhs[0]) + " and " + std::to_string(rhs[0]));
  std::vector<int64_t> shape = lhs;
  shape.back() = rhs.back();
  checkShape(context, shape, name);
  return shape;
}

Tensor accumulator(Context& context, const char* name, const Value& acc, const Type& type) {
  if (acc.isNone()) return broadcastLike(context, type.dtype.isFloat() ? Value(0.0) : Value(Int(0)), type);
  if (!acc.isTensor())
    context.fail("type-mismatch", std::string("`") + name + "` accumulator is " + describe(acc) + ", not a tile");
  const Tensor& tensor = acc.as<Tensor>();
  if (tensor.type != type)
    context.fail("type-mismatch", std::string("`") + name + "` gives `" + type.name() + "` but the accumulator is `" +
                                      tensor.type.name() + "`");
  return tensor;
}

Tensor dot(Context& context, const Value& lhsValue, const Value& rhsValue, const DotOptions& options) {
  Tensor lhs = dotOperand(context, lhsValue, "dot", "left"), rhs = dotOperand(context, rhsValue, "dot", "right");
  checkElements(context, lhs.type.dtype, rhs.type.dtype);
  Type type{{}, productShape(context, "dot", lhs.type.shape, rhs.type.shape), 0};
  type.dtype = resultType(context, lhs.type.dtype, requestedType(context, options));
  Tensor acc = accumulator(context, "dot", options.acc, type);
  return make<tile::DotOp>(context, type, lhs.value, rhs.value, acc.value, precisionOf(context, options),
                           impreciseOf(context, options, lhs.type.dtype, lhs.type.shape.back()));
}

}  // namespace tandem::frontend::semantic
