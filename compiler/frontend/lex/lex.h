// Text to tokens, with Python's indentation and line joining. Knows no grammar; never crashes, whatever the bytes.
#pragma once
#include "base/diagnostic.h"
#include "compiler/frontend/lex/token.h"
#include <optional>

namespace tandem::frontend {

// All tokens up to the end of the file, or up to the first error: the last token is EndOfFile or Error.
// A parser reports its own errors first when they come earlier in the text.
struct LexResult {
  std::vector<Token> tokens;
  std::optional<Diagnostic> error;
  bool unclosedBracket = false;  // the error is a bracket that was never closed; its range is that bracket's
};

// F-strings become FStringStart, then FStringMiddle and `{` tokens `}` in turn, then FStringEnd.
// The first line's indentation is the level of the whole text.
LexResult lex(const SourceFilePtr& file);

}  // namespace tandem::frontend
