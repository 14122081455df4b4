// Line lookup in source files.
#include "base/source.h"

namespace tandem {

std::string_view SourceFile::lineText(uint32_t line) const {
  if (line < firstLine) return {};
  size_t begin = 0;
  for (uint32_t at = firstLine; at < line; ++at) {
    begin = text.find('\n', begin);
    if (begin == std::string::npos) return {};
    ++begin;
  }
  size_t end = text.find('\n', begin);
  std::string_view found = std::string_view(text).substr(begin, end == std::string::npos ? end : end - begin);
  if (!found.empty() && found.back() == '\r') found.remove_suffix(1);
  return found;
}

}  // namespace tandem
