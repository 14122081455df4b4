// Ops whose region is a kernel function applied to scalars. `what` is the builtin's name in messages.
#pragma once
#include "compiler/frontend/semantic/typed_op.h"

namespace tandem::frontend::semantic {

// The sources of a reduction or a scan: tiles of one shape.
std::vector<Tensor> tilesOf(Context&, const Value& sources, const std::string& what);
std::vector<mlir::Value> handles(const std::vector<Tensor>&);
std::vector<mlir::Type> typesOf(Context&, const std::vector<Type>&);
// Fills `region` with a call of `function` on scalars of `arguments` and yields its results, which must have the
// `wanted` types where there are any. The builder is put back, also when the function fails.
std::vector<Tensor> callInRegion(Context&, mlir::Region& region, const Value& function,
                                 const std::vector<DType>& arguments, const std::vector<DType>* wanted,
                                 const std::string& what);
// The op's results: one tensor, or a tuple.
Value gathered(mlir::Operation* op, const std::vector<Type>& types, bool asTuple);

}  // namespace tandem::frontend::semantic
