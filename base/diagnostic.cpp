// Renders diagnostics with the source line and a caret.
#include "base/diagnostic.h"
#include <algorithm>

namespace tandem {
namespace {

const char* word(Severity s) {
  switch (s) {
    case Severity::Error: return "error";
    case Severity::Warning: return "warning";
    case Severity::Note: return "note";
  }
  return "error";
}

// Tabs are kept in the caret line, so the caret stands under its column whatever the tab width is.
std::string caretLine(std::string_view line, const SourceRange& r) {
  size_t first = r.column > 0 ? r.column - 1 : 0;
  std::string out;
  for (size_t i = 0; i < first; ++i) out += i < line.size() && line[i] == '\t' ? '\t' : ' ';
  out += '^';
  size_t last = r.endLine == r.line ? r.endColumn : line.size() + 1;
  for (size_t i = first + 2; i < last && i <= line.size(); ++i) out += '~';
  return out;
}

}  // namespace

std::string Diagnostic::render() const {
  std::string out;
  if (file) {
    out += file->name;
    if (range.line) out += ":" + std::to_string(range.line) + ":" + std::to_string(range.column);
    out += ": ";
  }
  out += std::string(word(severity)) + ": " + message + "\n";
  if (file && range.line) {
    std::string_view line = file->lineText(range.line);
    if (!line.empty()) out += "    " + std::string(line) + "\n    " + caretLine(line, range) + "\n";
  }
  for (const Diagnostic& n : notes) out += n.render();
  return out;
}

}  // namespace tandem
