// Per-thread vectors and per-thread memory accesses.
#include "compiler/frontend/builtin/vectors.h"

using namespace tandem::frontend::semantic;

namespace tandem::frontend::builtin {

Tensor makeVector(Context& c, const std::vector<Tensor>& elements) {
  Type type{elements[0].type.dtype, {}, static_cast<uint32_t>(elements.size())};
  std::vector<mlir::Value> values;
  for (const Tensor& e : elements) values.push_back(e.value);
  return {simt::VectorOp::create(c.builder, c.loc(), type.toMLIR(c.builder.getContext()), values), type};
}

Tensor element(Context& c, const Tensor& vector, int64_t index) {
  Type type{vector.type.dtype, {}};
  return {simt::VectorExtractOp::create(c.builder, c.loc(), type.toMLIR(c.builder.getContext()), vector.value,
                                        static_cast<uint32_t>(index)),
          type};
}

std::vector<Tensor> elements(Context& c, const Tensor& vector) {
  std::vector<Tensor> result;
  for (uint32_t i = 0; i < vector.type.vectorLength; ++i) result.push_back(element(c, vector, i));
  return result;
}

Tensor recast(Context& c, const Tensor& source, DType dtype, uint32_t length) {
  Type type{dtype, {}, length};
  if (type == source.type) return source;
  return {simt::VectorBitcastOp::create(c.builder, c.loc(), type.toMLIR(c.builder.getContext()), source.value), type};
}

Tensor vectorArgument(Context& c, const Value& value, const std::string& what) {
  if (!value.isTensor() || !value.as<Tensor>().type.isVector())
    c.fail("type", "`" + what + "` must be a vector, not " + describe(value));
  return value.as<Tensor>();
}

uint32_t vectorLength(Context& c, const Value& value, const std::string& what) {
  Int length = constexprInt(c, value, what);
  if (length < 1 || length > 128 || (length & (length - 1)) != 0)
    c.fail("argument-value",
           "`" + what + "` is " + repr(value) + "; a vector has a power of two of elements, at most 128");
  return static_cast<uint32_t>(length);
}

Tensor threadLoad(Context& c, const Tensor& pointer, uint32_t vectorLength, const Access& how) {
  Type type{pointer.type.dtype.pointee(), {}, vectorLength};
  if (type.dtype == DType{Scalar::Void}) c.fail("type", "cannot load through a pointer to void");
  auto op = simt::LdOp::create(c.builder, c.loc(), type.toMLIR(c.builder.getContext()), pointer.value, how.sem,
                               how.scope, how.weak);
  return {op, type};
}

void threadStore(Context& c, const Tensor& pointer, const Tensor& value, const Access& how) {
  simt::StOp::create(c.builder, c.loc(), pointer.value, value.value, how.sem, how.scope, how.weak);
}

Access access(Context& c, const Value& scopeWord, const Value& semantic, tile::Semantic strongest) {
  auto isEmpty = [](const Value& v) { return v.isNone() || (v.is<std::string>() && v.as<std::string>().empty()); };
  if (isEmpty(scopeWord) && isEmpty(semantic)) return {tile::Semantic::Relaxed, tile::Scope::Cta, true};
  if (semantic.is<std::string>() && semantic.as<std::string>() == "weak")
    return {tile::Semantic::Relaxed, tile::Scope::Cta, true};
  Access result{order(c, semantic, "semantic"), scope(c, scopeWord, "scope"), false};
  if (result.sem != tile::Semantic::Relaxed && result.sem != strongest)
    c.fail("argument-value", "`semantic` is " + repr(semantic) + "; it must be `relaxed` or `" +
                                 (strongest == tile::Semantic::Acquire ? "acquire`" : "release`"));
  return result;
}

}  // namespace tandem::frontend::builtin
