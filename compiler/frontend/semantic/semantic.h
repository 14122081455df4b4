// Triton's typing rules, one function an operation: operands in, ops out. Errors go through Context::fail.
// The names of parameters and the rules are those of Triton's language reference.
#pragma once
#include "compiler/dialect/dist/dist.h"
#include "compiler/dialect/simt/simt.h"
#include "compiler/dialect/tile/tile.h"
#include "compiler/frontend/semantic/context.h"

namespace tandem::frontend::semantic {

// --- constants and conversions (constant.cpp, cast.cpp) --- A Python number as the scalar tensor Triton makes of it:
// bool int1; int the first of int32, uint32, int64, uint64 that holds it; float fp32 (fp64 when out of its range). A
// Tensor is returned as it is.
Tensor toTensor(Context&, const Value&);
Tensor constant(Context&, const Value& number, DType);  // a scalar of that type
Tensor full(Context&, const std::vector<int64_t>& shape, const Value& value, DType);
// value-preserving where it can be
Tensor cast(Context&, Tensor, DType, tile::Rounding rounding = tile::Rounding::Rtne);
Tensor bitcast(Context&, Tensor, DType);
// The value of a constexpr argument; fails with kind "constexpr-needed" and the argument's name otherwise.
Int constexprInt(Context&, const Value&, const std::string& what);
bool constexprBool(Context&, const Value&, const std::string& what);
std::string constexprString(Context&, const Value&, const std::string& what);
DType constexprDType(Context&, const Value&, const std::string& what);
std::vector<int64_t> constexprShape(Context&, const Value&, const std::string& what);  // powers of two checked

// --- arithmetic (fold.cpp for constexprs by Python's rules, promote.cpp, arithmetic.cpp) ---
DType promote(Context&, DType a, bool aIsScalar, DType b, bool bIsScalar, bool divOrMod);  // Triton's computation type
// Brings two operands to one type and shape; Python numbers take the other's type as Triton says.
std::pair<Tensor, Tensor> unify(Context&, const Value& lhs, const Value& rhs, bool allowPointers = false,
                                bool divOrMod = false);
// tensors, numbers, tuples, strings, pointers
Value binary(Context&, ast::BinaryOp, const Value& lhs, const Value& rhs);
Value compare(Context&, ast::CompareOp, const Value& lhs, const Value& rhs);
Value unary(Context&, ast::UnaryOp, const Value&);
// `and` / `or` of tensors; constexprs short-circuit earlier
Value logical(Context&, ast::BoolOpKind, const Value& lhs, const Value& rhs);
Tensor condition(Context&, const Value&);  // int1 scalar for `if`, `while`, ternary
// the scalar that a tile of one element holds
Tensor onlyElement(Context&, Tensor);
bool truth(Context&, const Value& constant);  // Python truth of a constexpr

// --- shape (shape.cpp) ---
Tensor broadcastTo(Context&, Tensor, const std::vector<int64_t>& shape);
std::pair<Tensor, Tensor> broadcast(Context&, Tensor, Tensor);
Tensor splat(Context&, Tensor scalar, const std::vector<int64_t>& shape);
Tensor arange(Context&, Int start, Int end);
Tensor expandDims(Context&, Tensor, int axis);
Tensor reshape(Context&, Tensor, const std::vector<int64_t>& shape, bool canReorder);
Tensor permute(Context&, Tensor, const std::vector<int64_t>& order);
Tensor join(Context&, Tensor, Tensor);
std::pair<Tensor, Tensor> split(Context&, Tensor);
Tensor cat(Context&, Tensor, Tensor);
Tensor gather(Context&, Tensor source, Tensor indices, int axis);
Tensor histogram(Context&, Tensor, int64_t bins, std::optional<Tensor> mask);
Value subscript(Context&, const Value& base, const Value& index);  // x[:, None], tuple[i], vector[i], string

// --- select and math (math.cpp) ---
Tensor where(Context&, const Value& condition, const Value& x, const Value& y);
Tensor minimum(Context&, const Value& x, const Value& y, bool propagateNan);
Tensor maximum(Context&, const Value& x, const Value& y, bool propagateNan);
Tensor clamp(Context&, const Value& x, const Value& min, const Value& max, bool propagateNan);
Tensor abs(Context&, const Value&);
Tensor fma(Context&, const Value&, const Value&, const Value&);
Tensor umulhi(Context&, const Value&, const Value&);
Tensor fdiv(Context&, const Value&, const Value&);
// exp exp2 log log2 sin cos sqrt sqrt_rn rsqrt erf floor ceil ...: the math op of that name on fp32/fp64 (checked as
// Triton does).
Tensor mathUnary(Context&, const std::string& name, const Value&);

// --- memory (memory.cpp, block.cpp, atomic.cpp) ---
struct LoadOptions {
  Value mask, other, boundaryCheck, padding, cache, eviction, isVolatile;
};
// pointers, tiles of pointers, block pointers
Value load(Context&, const Value& pointer, const LoadOptions&);
void store(Context&, const Value& pointer, const Value& value, const LoadOptions&);
Value makeBlockPointer(Context&, const Value& base, const Value& shape, const Value& strides, const Value& offsets,
                       const Value& blockShape, const Value& order);
Value advance(Context&, const Value& blockPointer, const Value& offsets);
Value makeDescriptor(Context&, const Value& base, const Value& shape, const Value& strides, const Value& blockShape,
                     const Value& padding);
Value descriptorLoad(Context&, const Descriptor&, const Value& offsets);
void descriptorStore(Context&, const Descriptor&, const Value& offsets, const Value& value,
                     std::optional<tile::Rmw> reduce = {});
Value descriptorGather(Context&, const Descriptor&, const Value& xOffsets, const Value& yOffset);
void descriptorScatter(Context&, const Descriptor&, const Value& value, const Value& xOffsets, const Value& yOffset);
Value atomicRmw(Context&, const std::string& op, const Value& pointer, const Value& value, const Value& mask,
                const Value& sem, const Value& scope);
Value atomicCas(Context&, const Value& pointer, const Value& expected, const Value& value, const Value& sem,
                const Value& scope);
Tensor addPointer(Context&, Tensor pointer, Tensor offset);
void checkWritable(Context&, DType pointer, const std::string& what);  // fails for a pointer to const

// --- product and reduction (dot.cpp, reduce.cpp) ---
struct DotOptions {
  Value acc, inputPrecision, allowTf32, maxNumImpreciseAcc, outDtype;
};
Tensor dot(Context&, const Value& lhs, const Value& rhs, const DotOptions&);
Tensor dotScaled(Context&, const Value& lhs, const Value& lhsScale, const Value& lhsFormat, const Value& rhs,
                 const Value& rhsScale, const Value& rhsFormat, const Value& acc, const Value& fastMath,
                 const Value& lhsKPack, const Value& rhsKPack, const Value& outDtype);
// `combine` is a function value of 2n scalars giving n; `sources` is a tensor or a tuple of tensors of one shape.
Value reduce(Context&, const Value& sources, std::optional<int> axis, const Value& combine, bool keepDims);
Value scan(Context&, const Value& sources, int axis, const Value& combine, bool reverse);
Value mapElementwise(Context&, const Value& function, const std::vector<Value>& sources, int pack);

}  // namespace tandem::frontend::semantic
