// Reads and writes of single elements of shared-memory buffers.
#include "compiler/frontend/emit/emitter.h"

namespace tandem::frontend {

std::vector<mlir::Value> Emitter::elementIndices(const SmemBuffer& buffer, const Value& index) {
  Positional indices = index.isTuple() ? index.elements() : Positional{index};
  if (indices.size() != buffer.shape.size())
    cx.fail("index-count", "a shared-memory buffer of " + std::to_string(buffer.shape.size()) +
                               " dimensions needs as many indices, but got " + std::to_string(indices.size()));
  std::vector<mlir::Value> out;
  for (const Value& v : indices) {
    if (!v.isTensor() && !v.is<Int>()) cx.fail("type-mismatch", "an index must be an integer, but is " + describe(v));
    Tensor t = semantic::toTensor(cx, v);
    if (!t.type.isScalar() || !t.type.dtype.isInt())
      cx.fail("type-mismatch", "an index must be an integer scalar, but is " + describe(v));
    out.push_back(semantic::cast(cx, t, DType{Scalar::Int32}).value);
  }
  return out;
}

Value Emitter::loadElement(const SmemBuffer& buffer, const Value& index) {
  std::vector<mlir::Value> indices = elementIndices(buffer, index);
  Type type{buffer.dtype, {}, 0};
  return Tensor{tandem::simt::SmemLoadOp::create(cx.builder, cx.loc(), type.toMLIR(cx.builder.getContext()),
                                                 buffer.value, indices),
                type};
}

void Emitter::storeElement(const SmemBuffer& buffer, const Value& index, const Value& value) {
  if (!value.isTensor() && !value.isNumber())
    cx.fail("type-mismatch", "an element of `" + buffer.dtype.name() + "` cannot hold " + describe(value));
  Tensor t = value.isTensor() ? value.as<Tensor>() : semantic::constant(cx, value, buffer.dtype);
  if (!t.type.isScalar()) cx.fail("type-mismatch", "an element assignment needs a scalar, but got " + describe(value));
  mlir::Value element = semantic::cast(cx, t, buffer.dtype).value;
  tandem::simt::SmemStoreOp::create(cx.builder, cx.loc(), buffer.value, element, elementIndices(buffer, index));
}

}  // namespace tandem::frontend
