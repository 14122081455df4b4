// Source positions of ops and of errors.
#include "compiler/frontend/semantic/context.h"
#include <mlir/IR/Location.h>

namespace tandem::frontend {
namespace {

mlir::Location locationOf(const Context::Place& place, mlir::MLIRContext* context) {
  mlir::Location here = mlir::UnknownLoc::get(context);
  if (place.file) {
    const SourceRange& range = place.range;
    here = mlir::FileLineColRange::get(context, place.file->name, range.line, range.column, range.endLine,
                                       range.endColumn);
  }
  if (!place.caller) return here;
  return mlir::CallSiteLoc::get(here, locationOf(*place.caller, context));
}

constexpr size_t kShownCalls = 8;  // the innermost; the outermost is shown too

// Functions of ours that are written in the kernel language.
bool isLibrary(const Context::Place& place) { return place.file && place.file->name.starts_with("tandem/language/"); }

// An error inside the library is the fault of the line that called it.
Diagnostic diagnosticAt(const Context::Place& place, const SourceRange& range, Severity severity,
                        const std::string& kind, const std::string& message) {
  const Context::Place* blamed = &place;
  while (isLibrary(*blamed) && blamed->caller) blamed = blamed->caller;
  bool inLibrary = blamed != &place;
  Diagnostic diagnostic{severity, kind, message, blamed->file, inLibrary ? blamed->range : range, {}};
  for (const Context::Place *inner = blamed, *caller = inner->caller; caller; inner = caller, caller = caller->caller) {
    if (diagnostic.notes.size() >= kShownCalls && caller->caller) continue;
    std::string who = inner->function.empty() ? "" : "`" + inner->function + "` is ";
    diagnostic.notes.push_back(
        {Severity::Note, "call-chain", who + "called from here", caller->file, caller->range, {}});
  }
  if (inLibrary)
    diagnostic.notes.push_back({Severity::Note, "call-chain", "in `" + place.function + "`", place.file, range, {}});
  return diagnostic;
}

}  // namespace

mlir::Location Context::loc() const { return locationOf(place, builder.getContext()); }

void Context::fail(const std::string& kind, const std::string& message) const { failAt(place.range, kind, message); }

void Context::failAt(const SourceRange& range, const std::string& kind, const std::string& message,
                     const std::string& suggestion) const {
  Diagnostic diagnostic = diagnosticAt(place, range, Severity::Error, kind, message);
  if (!suggestion.empty()) {
    Diagnostic note{Severity::Note, "", "did you mean `" + suggestion + "`?", diagnostic.file, diagnostic.range, {}};
    diagnostic.notes.insert(diagnostic.notes.begin(), std::move(note));
  }
  throw CompileError(std::move(diagnostic));
}

SourceRange Context::keywordRange(const std::string& name) const {
  if (keywords)
    for (const ast::Keyword& k : *keywords)
      if (k.name == name) return k.range;
  return place.range;
}

void Context::warn(const std::string& kind, const std::string& message) {
  warnings.push_back(diagnosticAt(place, place.range, Severity::Warning, kind, message));
}

}  // namespace tandem::frontend
