// How the emitter fails: notes at other places, suggestions for misspelt names, the bound on the size of a kernel.
#include "compiler/frontend/emit/emitter.h"
#include <algorithm>

namespace tandem::frontend {
namespace {

// Edits that make one word of another; a swap of neighbours counts one.
size_t editDistance(const std::string& a, const std::string& b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i)
    for (size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

std::string closest(const std::string& name, const std::vector<std::string>& candidates) {
  if (name.size() > 100) return "";
  size_t best = name.size() <= 3 ? 2 : std::min<size_t>(3, name.size() / 3 + 1);
  std::string found;
  for (const std::string& c : candidates) {
    if (c == name || c.size() > name.size() + best) continue;
    size_t d = editDistance(name, c);
    if (d < best) best = d, found = c;
  }
  return found;
}

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
  std::string near = closest(name, candidates);
  if (!near.empty()) notes.push_back(note(cx.place.range, "did you mean `" + near + "`?"));
  failWithNotes(cx.place.range, "unknown-name", "name `" + name + "` is not defined", std::move(notes));
}

void Emitter::failUnknownMember(const std::string& owner, const std::string& name, const std::vector<std::string>& candidates) {
  std::vector<Diagnostic> notes;
  std::string near = closest(name, candidates);
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
