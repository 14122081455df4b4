// How the emitter fails: notes at other places, suggestions for misspelt names, the bound on the size of a kernel.
#include "compiler/frontend/emit/emitter.h"
#include "compiler/frontend/semantic/spelling.h"

namespace tandem::frontend {
namespace {

constexpr uint64_t kMaxSteps = 4'000'000;

}  // namespace

Diagnostic Emitter::note(const SourceRange& range, const std::string& message) const {
  return {Severity::Note, "", message, cx.place.file, range, {}};
}

void Emitter::failWithNotes(const SourceRange& range, const std::string& kind, const std::string& message, std::vector<Diagnostic> notes) {
  try {
    cx.failAt(range, kind, message);
  } catch (const CompileError& error) {
    Diagnostic d = error.diagnostic;
    d.notes.insert(d.notes.begin(), notes.begin(), notes.end());
    throw CompileError(std::move(d));
  }
}

void Emitter::failUnsupported(const SourceRange& range, const std::string& feature) {
  cx.failAt(range, "unsupported-feature", feature + " is not supported in kernels");
}

void Emitter::failUnknownName(const std::string& name) {
  std::vector<std::string> candidates = pythonBuiltinNames();
  for (const auto& [local, value] : frame_->locals) candidates.push_back(local);
  if (frame_->globals)
    for (std::string& global : frame_->globals->names()) candidates.push_back(std::move(global));
  std::vector<Diagnostic> notes;
  std::string near = closestName(name, candidates);
  if (!near.empty()) notes.push_back(note(cx.place.range, "did you mean `" + near + "`?"));
  failWithNotes(cx.place.range, "unknown-name", "name `" + name + "` is not defined", std::move(notes));
}

void Emitter::failUnknownMember(const std::string& owner, const std::string& name, const std::vector<std::string>& candidates) {
  std::vector<Diagnostic> notes;
  std::string near = closestName(name, candidates);
  if (!near.empty()) notes.push_back(note(cx.place.range, "did you mean `" + near + "`?"));
  failWithNotes(cx.place.range, "unknown-name", owner + " has no `" + name + "`", std::move(notes));
}

// Calls and unrolled loops can make a short text emit without end.
void Emitter::spend(uint64_t amount) {
  spent_ += amount;
  if (spent_ > kMaxSteps)
    cx.fail("too-large",
            "the kernel is too large: unrolled loops and inlined calls exceed " + std::to_string(kMaxSteps) + " steps");
}

}  // namespace tandem::frontend
