// Entries for names without a row in the builtin table. Their meaning is in python_builtin.cpp, python_math.cpp and simt_region.cpp.
#include "compiler/frontend/emit/special.h"
#include "compiler/frontend/emit/python_math.h"
#include <algorithm>

namespace tandem::frontend {
namespace {

const std::vector<Builtin>& pythonBuiltins() {
  static const std::vector<Builtin> table = [] {
    std::vector<Builtin> t;
    for (const char* name : {"range",    "min",        "max",   "len",     "float",   "int",       "bool", "str", "abs",
                             "print",    "isinstance", "tuple", "list",    "zip",     "enumerate", "sum",  "any", "all",
                             "reversed", "round",      "pow",   "getattr", "hasattr", "slice",     "bin"})
      t.push_back({std::string("python.") + name, "*args", "", nullptr});
    return t;
  }();
  return table;
}

}  // namespace

const Builtin* findSpecial(const std::string& canonicalName) {
  static const std::vector<Builtin> table = [] {
    std::vector<Builtin> t = {{"tl.constexpr", "value", "", nullptr}, {"dl.simt_exec_region", "", "", nullptr}};
    t.insert(t.end(), mathFunctions().begin(), mathFunctions().end());
    return t;
  }();
  auto it = std::find_if(table.begin(), table.end(), [&](const Builtin& b) { return b.name == canonicalName; });
  return it == table.end() ? nullptr : &*it;
}

const Builtin* findPythonBuiltin(const std::string& name) {
  for (const Builtin& b : pythonBuiltins())
    if (std::string_view(b.name).substr(7) == name) return &b;
  return nullptr;
}

std::vector<std::string> pythonBuiltinNames() {
  std::vector<std::string> out;
  for (const Builtin& b : pythonBuiltins()) out.push_back(b.name.substr(7));
  return out;
}

}  // namespace tandem::frontend
