// A builtin's signature text as data, parsed once.
#pragma once
#include "compiler/frontend/builtin/registry.h"

namespace tandem::frontend::builtin {

struct Parameter {
  std::string name;
  std::optional<Value> fallback;
  bool keywordOnly = false;
};

struct Signature {
  std::vector<Parameter> parameters;
  bool takesRest = false;      // *args
  bool takesKeywords = false;  // **kwargs: accepted and dropped
};

// Throws CompileError when the text is no Python parameter list: a fault of the table.
const Signature& signatureOf(const Builtin&);

}  // namespace tandem::frontend::builtin
