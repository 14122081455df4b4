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

constexpr size_t kShownBefore = 100, kShownAfter = 140;

bool startsCharacter(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

// Tabs are kept and other characters count one each, so the caret stands under its column whatever the tab width is.
std::string caretLine(std::string_view line, size_t first, size_t last) {
  std::string out;
  for (size_t i = 0; i < first; ++i)
    if (i >= line.size() || startsCharacter(line[i])) out += i < line.size() && line[i] == '\t' ? '\t' : ' ';
  out += '^';
  for (size_t i = first + 1; i < last && i < line.size(); ++i)
    if (startsCharacter(line[i])) out += '~';
  return out;
}

// The source line with a caret under it, of a very long line the part around the caret. An empty range at the line's
// begin, as places of the host are, is the line as a whole.
std::string excerpt(std::string_view line, const SourceRange& r) {
  bool isWhole = r.column == 1 && r.endLine == r.line && r.endColumn == 1;
  size_t begins = std::min(line.find_first_not_of(" \t"), line.size());
  size_t first = isWhole ? begins : r.column > 0 ? r.column - 1 : 0;
  size_t last = r.endLine == r.line && !isWhole ? r.endColumn - 1 : line.size();
  std::string before, after;
  if (line.size() > first + kShownAfter) {
    size_t end = first + kShownAfter;
    while (end > first && !startsCharacter(line[end])) --end;
    line = line.substr(0, end);
    after = "...";
  }
  if (first > kShownBefore && first <= line.size() && line.size() > kShownBefore + kShownAfter) {
    size_t begin = first - kShownBefore;
    while (begin < first && !startsCharacter(line[begin])) ++begin;
    line.remove_prefix(begin);
    first -= begin, last -= std::min(last, begin);
    before = "...";
  }
  std::string indent(4 + before.size(), ' ');
  return "    " + before + std::string(line) + after + "\n" + indent + caretLine(line, first, last) + "\n";
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
    if (!line.empty()) out += excerpt(line, range);
  }
  for (const Diagnostic& n : notes) out += n.render();
  return out;
}

}  // namespace tandem
