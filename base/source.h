// Source files and positions, shared by every stage that must name a line.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

// A half-open range of one file. Lines and columns count from 1; columns count bytes.
struct SourceRange {
  uint32_t line = 0, column = 0, endLine = 0, endColumn = 0;
};

// One piece of Python text. `firstLine` is the line in the named file at which `text` starts,
// so a function cut out of a module keeps the module's line numbers.
struct SourceFile {
  std::string name;
  std::string text;
  uint32_t firstLine = 1;

  // The text of absolute line `line` without its newline; empty when outside.
  std::string_view lineText(uint32_t line) const;
};

using SourceFilePtr = std::shared_ptr<const SourceFile>;

// The lines of one file, for those who ask for many of them. The file must outlive it.
class SourceLines {
 public:
  explicit SourceLines(const SourceFile& file);

  // This gives the same text as `SourceFile::lineText`.
  std::string_view text(uint32_t line) const;

 private:
  const SourceFile& file_;
  std::vector<size_t> starts_;  // of each line, in the file's text
};

}  // namespace tandem
