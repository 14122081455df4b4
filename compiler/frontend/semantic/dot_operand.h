// Plain and scaled products share these functions. `name` is the builtin's name in messages.
#pragma once
#include "compiler/frontend/semantic/typed_op.h"

namespace tandem::frontend::semantic {

Tensor dotOperand(Context&, const Value&, const char* name, const char* side);
// The shape of the product; fails when ranks, inner or batch dimensions differ.
std::vector<int64_t> productShape(Context&, const char* name, const std::vector<int64_t>& lhs,
                                  const std::vector<int64_t>& rhs);
// `acc`, which must have `type`; zeros for None.
Tensor accumulator(Context&, const char* name, const Value& acc, const Type& type);

}  // namespace tandem::frontend::semantic
