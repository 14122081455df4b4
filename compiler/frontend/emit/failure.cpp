// The emitter's errors are made here: notes at other places, suggestions for misspelt names, the bound on the size of a
// kernel.
#include "compiler/frontend/emit/emitter.h"
#include "compiler/frontend/semantic/spelling.h"

namespace tandem::frontend {
Diagnostic Emitter::note(const SourceRange& range, const std::string& message) const {
  return {Severity::Note, "", message, cx.place.file, range, {}};
}

void Emitter::failWithNotes(const SourceRange& range, const std::string& kind, const std::string& message,
                            std::vector<Diagnostic> notes) {
  try {
    cx.failAt(range, kind, message);
  } catch (const CompileError& error) {
    Diagnostic d = error.diagnostic;
    d.notes.insert(d.notes.begin(), notes.begin(), notes.end());
    throw CompileError(std::move(d));
  }
}

void Emitter::failUnsupported(const SourceRange& range, const std::string& feature, const std::string& hint) {
  cx.failAt(range, "unsupported-feature", feature + " is not supported in kernels", hint);
}

void Emitter::failUnknownName(const std::string& name) {
  std::vector<std::string> candidates = pythonBuiltinNames();
  for (const auto& [local, value] : frame_->locals) candidates.push_back(local);
  if (frame_->globals)
    for (std::string& global : frame_->globals->names()) candidates.push_back(std::move(global));
  cx.failAt(cx.place.range, "unknown-name", "name `" + name + "` is not defined",
            didYouMean(closestName(name, candidates)));
}

void Emitter::failUnknownMember(const std::string& owner, const std::string& name,
                                const std::vector<std::string>& candidates, const std::string& hint) {
  std::string near = closestName(name, candidates);
  cx.failAt(cx.place.range, "unknown-name", owner + " has no `" + name + "`", near.empty() ? hint : didYouMean(near));
}

void Emitter::failForeign(const std::string& name, const Foreign& foreign) {
  cx.failAt(cx.place.range, "foreign-value", "`" + name + "` is " + foreign.description + "; kernels cannot use it",
            foreign.hint);
}

constexpr uint64_t kMaxSteps = 4'000'000;
constexpr int kMaxNesting = 100;

// Calls and unrolled loops can make a short text emit without end.
void Emitter::spend(uint64_t amount) {
  spent_ += amount;
  if (spent_ > kMaxSteps)
    cx.fail("too-large",
            "the kernel is too large: unrolled loops, inlined calls and the elements of tuples and strings exceed " +
                std::to_string(kMaxSteps) + " steps");
}

// The elements of a tuple, those of the tuples in it among them, or the characters of a string. Each level of nesting
// may hold the one below twice, so the count ends once it is too large for the kernel.
uint64_t Emitter::sizeOf(const Value& value, int depth) const {
  if (value.is<std::string>()) return value.as<std::string>().size();
  if (!value.isTuple()) return 0;
  if (depth > kMaxNesting) cx.fail("too-large", "tuples are nested more than " + std::to_string(kMaxNesting) + " deep");
  uint64_t size = value.elements().size();
  for (const Value& element : value.elements())
    if (size <= kMaxSteps) size += sizeOf(element, depth + 1);
  return size;
}

Value Emitter::made(Value value) {
  spend(sizeOf(value));
  return value;
}

}  // namespace tandem::frontend
