// Diagnostics that point at source text. The user's fault is always one of these, never a crash.
#pragma once
#include "base/source.h"
#include <exception>

namespace tandem {

enum class Severity : uint8_t { Error, Warning, Note };

// One message at one place. `kind` is a stable kebab-case word ("unknown-name") that tests and tools match on.
struct Diagnostic {
  Severity severity = Severity::Error;
  std::string kind;
  std::string message;
  SourceFilePtr file;
  SourceRange range;
  std::vector<Diagnostic> notes;

  // "k.py:3:5: error: ...", the source line, a caret line; then the notes likewise. Ends with a newline.
  std::string render() const;
};

// Thrown by the frontend for the first error; caught at the room's entry, never crosses the C ABI.
class CompileError : public std::exception {
 public:
  explicit CompileError(Diagnostic d) : diagnostic(std::move(d)), text_(diagnostic.render()) {}
  const char* what() const noexcept override { return text_.c_str(); }
  Diagnostic diagnostic;

 private:
  std::string text_;
};

}  // namespace tandem
