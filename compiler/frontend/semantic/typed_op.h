// The typing rules make ops with these functions: an op and the type Triton gives its result, in one step.
#pragma once
#include "compiler/frontend/semantic/semantic.h"

namespace tandem::frontend::semantic {

inline constexpr DType int1{Scalar::Int1}, int8{Scalar::Int8}, int32{Scalar::Int32}, int64{Scalar::Int64},
    fp16{Scalar::Fp16}, fp32{Scalar::Fp32}, fp64{Scalar::Fp64};

inline Type retyped(Type type, DType dtype) {
  type.dtype = dtype;
  return type;
}
inline bool sameShape(const Type& a, const Type& b) { return a.shape == b.shape && a.vectorLength == b.vectorLength; }

// An op of one result, whose type is `type`.
template <class Op, class... Args> Tensor make(Context& context, const Type& type, Args&&... args) {
  mlir::Operation* op = Op::create(context.builder, context.loc(), type.toMLIR(context.builder.getContext()),
                                   std::forward<Args>(args)...);
  return {op->getResult(0), type};
}
// An op on operands of one type, which is also the type of its result.
template <class Op, class... Operands>
Tensor elementwise(Context& context, const Tensor& first, const Operands&... rest) {
  mlir::Operation* op = Op::create(context.builder, context.loc(), first.value, rest.value...);
  return {op->getResult(0), first.type};
}

// "[64, 32]".
std::string shapeText(const std::vector<int64_t>& shape);
// Fails unless every size is a power of two and the tile has at most 1048576 elements.
void checkShape(Context&, const std::vector<int64_t>& shape, const std::string& what);
// `axis` counted from the front; fails when it is outside -rank to rank - 1.
int wrapAxis(Context&, Int axis, size_t rank, const std::string& what);
// True where the tensor is not zero; an int1 is returned as it is.
Tensor nonZero(Context&, Tensor);
// A Python number in every place of a tensor of `type`.
Tensor broadcastLike(Context&, const Value& number, const Type& type);
// Floats that no target computes with (fp8) as fp32; other tensors as they are.
Tensor computable(Context&, Tensor);
// `a` where the condition is true, else `b`; of one type and shape.
Tensor elementwiseSelect(Context&, const Tensor& condition, const Tensor& a, const Tensor& b);
// The type of the scalar tensor that Triton makes of a Python number.
DType numberType(Context&, const Value& number);
// A value that must be a pointer or a tile of pointers.
Tensor pointerOperand(Context&, const Value&, const std::string& what);
// The elements of a tuple or list; any other value is the only element.
std::vector<Value> listOf(const Value&);

}  // namespace tandem::frontend::semantic
