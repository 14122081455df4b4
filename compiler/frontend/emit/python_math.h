// Functions of Python's module `math`, which kernels may call on constants.
#pragma once
#include "compiler/frontend/builtin/registry.h"

namespace tandem::frontend {

// `v` is a bool, an integer or a float.
double toDouble(const Value& v);
// The entries "math.sqrt", "math.log2", ...
const std::vector<Builtin>& mathFunctions();
Value callMath(Context& context, const std::string& name, const std::vector<Value>& arguments);

}  // namespace tandem::frontend
