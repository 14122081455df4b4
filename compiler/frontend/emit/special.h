// The names that only the emitter can give a meaning: Python's builtins, `tl.constexpr`, `simt_exec_region`.
#pragma once
#include "compiler/frontend/builtin/registry.h"

namespace tandem::frontend {

// "tl.constexpr", "dl.simt_exec_region": ours, but without an entry in the builtin table.
const Builtin* findSpecial(const std::string& canonicalName);
// "len", "range", ...: the entry named "python.len".
const Builtin* findPythonBuiltin(const std::string& name);
std::vector<std::string> pythonBuiltinNames();

}  // namespace tandem::frontend
