// String literals of every prefix, and f-strings with their replacement fields (PEP 701).
#include "compiler/frontend/lex/lexer.h"

namespace tandem::frontend {
namespace {

constexpr size_t maxFStringDepth = 150, maxFieldDepth = 3;

struct Prefix {
  bool valid = true, raw = false, bytes = false, formatted = false, unicode = false;
};

Prefix readPrefix(std::string_view text) {
  Prefix p;
  for (char c : text) {
    bool* flag = nullptr;
    switch (c | 0x20) {
      case 'r': flag = &p.raw; break;
      case 'b': flag = &p.bytes; break;
      case 'f': flag = &p.formatted; break;
      case 'u': flag = &p.unicode; break;
    }
    if (!flag || *flag) return {.valid = false};
    *flag = true;
  }
  if (p.bytes && p.formatted) p.valid = false;
  if (p.unicode && text.size() > 1) p.valid = false;
  return p;
}

}  // namespace

bool Lexer::atStringQuote(std::string_view prefix) const {
  return (peek() == '"' || peek() == '\'') && prefix.size() <= 2 && readPrefix(prefix).valid;
}

bool Lexer::atQuote(char quote, bool triple) const {
  return peek() == quote && (!triple || (peek(1) == quote && peek(2) == quote));
}

void Lexer::lexString(Place start, std::string_view prefixText) {
  Prefix prefix = readPrefix(prefixText);
  char quote = peek();
  bool triple = atQuote(quote, true);
  pos_ += triple ? 3 : 1;
  if (prefix.formatted) {
    if (fstrings_.size() == maxFStringDepth) fail("too many nested f-strings", rangeFrom(start));
    fstrings_.push_back({start, quote, triple, prefix.raw, {}});
    return emit(TokenKind::FStringStart, start);
  }
  while (!atQuote(quote, triple)) {
    if (atEnd() || (atNewline() && !triple)) {
      bool endsField = !fstrings_.empty() && fstrings_.back().quote == quote && fstrings_.back().triple == triple;
      failUnterminated(start, endsField ? &fstrings_.back() : nullptr, triple);
    }
    if (peek() == '\\')
      skipBackslash(false);
    else if (atNewline())
      skipNewline();
    else
      ++pos_;
  }
  pos_ += triple ? 3 : 1;
  emit(prefix.bytes ? TokenKind::Bytes : TokenKind::String, start);
}

void Lexer::failUnterminated(const Place& start, const FString* open, bool triple) {
  if (open && !open->fields.empty())
    fail("f-string: expecting `}`", {start.line, start.column, start.line, start.column + 1});
  std::string literal = std::string(triple ? "triple-quoted " : "") + (open ? "f-string" : "string") + " literal";
  std::string message = "unterminated " + literal;
  if (line_ != start.line) message += " (detected at line " + std::to_string(line_) + ")";
  fail(message, {start.line, start.column, start.line, start.column + 1});
}

// Skips a backslash and the character that it hides. `named`: `\N{...}` is one escape, so its braces are text.
void Lexer::skipBackslash(bool named) {
  ++pos_;
  if (atEnd()) return;
  if (atNewline()) return skipNewline();
  bool isNamed = named && peek() == 'N' && peek(1) == '{';
  ++pos_;
  if (!isNamed) return;
  size_t close = text_.find_first_of("}\n\"'", pos_);
  if (close != std::string_view::npos && text_[close] == '}') pos_ = uint32_t(close + 1);
}

bool Lexer::inFStringText() const {
  return !fstrings_.empty() && (fstrings_.back().fields.empty() || fstrings_.back().fields.back().inFormatSpec);
}

// Inside a replacement field and outside every bracket of its expression.
bool Lexer::atFieldLevel() const {
  return !fstrings_.empty() && !fstrings_.back().fields.empty() &&
         fstrings_.back().fields.back().bracketDepth == brackets_.size();
}

void Lexer::lexFStringText() {
  Place start = here();
  skipFStringText();
  if (pos_ != start.offset) emit(TokenKind::FStringMiddle, start);
  FString& current = fstrings_.back();
  start = here();
  if (atEnd() || (atNewline() && !current.triple)) failUnterminated(current.start, &current, current.triple);
  if (peek() == '{') return openField();
  if (peek() == '}') return lexOperator();
  if (!current.fields.empty()) fail("f-string: expecting `}`", rangeHere(1));
  pos_ += current.triple ? 3 : 1;
  emit(TokenKind::FStringEnd, start);
  fstrings_.pop_back();
}

// Up to a replacement field, the field's end, the closing quote, or where the literal breaks off.
void Lexer::skipFStringText() {
  const FString& current = fstrings_.back();
  while (!atEnd() && !atQuote(current.quote, current.triple)) {
    char c = peek();
    if (c == '{' || c == '}') {
      if (!skipFStringBrace()) return;
    } else if (c == '\\') {
      if (peek(1) == '{' || peek(1) == '}')
        ++pos_;
      else
        skipBackslash(!current.raw);
    } else if (atNewline()) {
      if (!current.triple) return;
      skipNewline();
    } else {
      ++pos_;
    }
  }
}

// Doubled braces are text, except in a format spec. False at a brace that means something.
bool Lexer::skipFStringBrace() {
  char c = peek();
  if (!fstrings_.back().fields.empty()) return false;
  if (peek(1) != c) {
    if (c == '}') fail("f-string: single `}` is not allowed", rangeHere(1));
    return false;
  }
  pos_ += 2;
  return true;
}

void Lexer::openField() {
  Place start = here();
  FString& current = fstrings_.back();
  if (current.fields.size() == maxFieldDepth) fail("f-string: expressions nested too deeply", rangeHere(1));
  openBracket('{');
  ++pos_;
  current.fields.push_back({brackets_.size(), false});
  emit(TokenKind::LBrace, start);
}

}  // namespace tandem::frontend
