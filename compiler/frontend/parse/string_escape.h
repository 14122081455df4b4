// The value of a string literal's text. Knows no tokens.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace tandem::frontend {

struct StringRules {
  bool raw = false;            // backslashes are text
  bool bytes = false;          // ASCII only, no Unicode escapes
  bool doubledBraces = false;  // `{{` and `}}` stand for one brace
};

struct EscapeError {
  size_t offset = 0, length = 0;  // in the text
  std::string message;
};

// Appends the value as UTF-8; a lone surrogate is encoded like any other code point. Line ends become "\n".
// `\N{name}` becomes U+FFFD: the names of all characters are not known here.
std::optional<EscapeError> decodeString(std::string_view text, const StringRules& rules, std::string& out);

}  // namespace tandem::frontend
