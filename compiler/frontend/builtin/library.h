// The functions of ours that are written in our own language, as found in the embedded sources.
#pragma once
#include "compiler/frontend/builtin/registry.h"
#include <unordered_map>

namespace tandem::frontend::builtin {

// An embedded source: its file name and its text.
struct EmbeddedSource {
  const char* name;
  const char* module;
  const char* text;
};
const std::vector<EmbeddedSource>& embeddedSources();

// The library's functions by canonical name, tensor methods and other spellings included.
const std::unordered_map<std::string, LibraryFunction>& libraryFunctions();

}  // namespace tandem::frontend::builtin
