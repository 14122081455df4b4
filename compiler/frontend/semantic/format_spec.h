// Python's format specs (`f"{n:>4}"`) for numbers and strings of compile time.
#pragma once
#include "compiler/frontend/semantic/context.h"

namespace tandem::frontend {

// Fails with kind "format-spec" when the value's type has no such format.
std::string formatConstant(const Context&, const Value&, const std::string& spec);

}  // namespace tandem::frontend
