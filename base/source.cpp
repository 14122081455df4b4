// Line lookup in source files.
#include "base/source.h"

namespace tandem {

SourceLines::SourceLines(const SourceFile& file) : file_(file) {
  for (size_t at = 0; at != std::string::npos;) {
    starts_.push_back(at);
    at = file.text.find('\n', at);
    if (at != std::string::npos) ++at;
  }
}

std::string_view SourceLines::text(uint32_t line) const {
  if (line < file_.firstLine || line - file_.firstLine >= starts_.size()) return {};
  size_t begin = starts_[line - file_.firstLine], end = file_.text.find('\n', begin);
  std::string_view found = std::string_view(file_.text).substr(begin, end == std::string::npos ? end : end - begin);
  if (!found.empty() && found.back() == '\r') found.remove_suffix(1);
  return found;
}

std::string_view SourceFile::lineText(uint32_t line) const { return SourceLines(*this).text(line); }

}  // namespace tandem
