// Python's `==` of constants.
#pragma once
#include "compiler/frontend/semantic/value.h"

namespace tandem::frontend {

// False for values of different kinds; a tensor equals no constant.
bool sameConstant(const Value& a, const Value& b);

}  // namespace tandem::frontend
