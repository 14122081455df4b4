// The lexer's loop: names, operators, brackets and line ends.
#include "compiler/frontend/lex/lexer.h"
#include "compiler/frontend/lex/character.h"
#include <algorithm>
#include <cstdio>
#include <limits>

namespace tandem::frontend {
namespace {

constexpr size_t maxBracketDepth = 200;

bool isDigit(char c) { return c >= '0' && c <= '9'; }

char closerOf(char open) { return open == '(' ? ')' : open == '[' ? ']' : '}'; }

std::string quoted(char c) { return std::string("`") + c + "`"; }

}  // namespace

LexResult lex(const SourceFilePtr& file) { return Lexer(file).run(); }

Lexer::Lexer(SourceFilePtr file) : file_(std::move(file)), text_(file_->text), line_(file_->firstLine) {}

LexResult Lexer::run() {
  try {
    lexAll();
  } catch (CompileError& error) {
    Token token;
    token.kind = TokenKind::Error;
    token.offset = pos_;
    token.range = error.diagnostic.range;
    result_.tokens.push_back(token);
    result_.error = std::move(error.diagnostic);
  }
  return std::move(result_);
}

void Lexer::lexAll() {
  constexpr std::string_view byteOrderMark = "\xef\xbb\xbf";
  checkBytes();
  result_.tokens.reserve(text_.size() / 4);
  if (text_.starts_with(byteOrderMark)) pos_ = byteOrderMark.size();
  while (!atEnd()) {
    if (inFStringText())
      lexFStringText();
    else if (atLineStart_)
      lexIndentation();
    else
      lexToken();
  }
  finish();
}

// NUL and bytes that are not UTF-8 are refused before anything else looks at them.
void Lexer::checkBytes() {
  if (text_.size() >= std::numeric_limits<uint32_t>::max() - 1) fail("source text is larger than 4 GiB", rangeHere(0));
  for (size_t at = 0; at < text_.size();) {
    unsigned char c = static_cast<unsigned char>(text_[at]);
    CodePoint found = c < 0x80 ? CodePoint{c, 1} : decodeUtf8(text_.substr(at, 4));
    if (found.length && found.value) {
      at += found.length;
      if (c == '\n') ++line_, lineStart_ = uint32_t(at);
      continue;
    }
    pos_ = uint32_t(at);
    fail(found.length ? "source text cannot contain null bytes" : "source text is not valid UTF-8", rangeHere(1));
  }
  line_ = file_->firstLine;
  lineStart_ = 0;
}

void Lexer::finish() {
  if (inFStringText()) {
    const FString& open = fstrings_.back();
    failUnterminated(open.start, &open, open.triple);
  }
  if (!brackets_.empty()) {
    const Bracket& bracket = brackets_.back();
    const Place& at = bracket.place;
    result_.unclosedBracket = true;
    fail(quoted(bracket.open) + " was never closed", {at.line, at.column, at.line, at.column + 1});
  }
  if (!atLineStart_) emitEmpty(TokenKind::Newline);
  for (size_t i = 1; i < indentations_.size(); ++i) emitEmpty(TokenKind::Dedent);
  emitEmpty(TokenKind::EndOfFile);
}

void Lexer::lexToken() {
  char c = peek();
  if (c == ' ' || c == '\t' || c == '\f')
    ++pos_;
  else if (c == '#')
    skipComment();
  else if (atNewline())
    lexLineEnd();
  else if (c == '\\')
    lexContinuation();
  else if (isDigit(c) || (c == '.' && isDigit(peek(1))))
    lexNumber();
  else if (c == '"' || c == '\'')
    lexString(here(), "");
  else if (static_cast<unsigned char>(c) >= 0x80 || startsIdentifier(static_cast<unsigned char>(c)))
    lexName();
  else
    lexOperator();
}

void Lexer::lexName() {
  Place start = here();
  CodePoint c = decodeUtf8(text_.substr(pos_, 4));
  if (!startsIdentifier(c.value)) failCharacter();
  while (c.length && continuesIdentifier(c.value)) {
    pos_ += c.length;
    unsigned char next = static_cast<unsigned char>(peek());
    c = next < 0x80 ? CodePoint{next, 1} : decodeUtf8(text_.substr(pos_, 4));
  }
  std::string_view word = text_.substr(start.offset, pos_ - start.offset);
  if (atStringQuote(word)) return lexString(start, word);
  if (c.value >= 0x80) failCharacter();
  emit(keywordOrName(word), start);
}

void Lexer::failCharacter() {
  CodePoint c = decodeUtf8(text_.substr(pos_, 4));
  char code[16];
  std::snprintf(code, sizeof code, "U+%04X", unsigned(c.value));
  bool blank = c.value < 0x20 || (c.value >= 0x7f && c.value <= 0xa0) || (c.value >= 0x2000 && c.value <= 0x200f) ||
               (c.value >= 0x2028 && c.value <= 0x202f) || c.value == 0x3000 || c.value == 0xfeff;
  if (blank) fail("invalid non-printable character " + std::string(code), rangeHere(c.length));
  std::string shown(text_.substr(pos_, c.length));
  std::string suffix = c.value < 0x80 ? "" : " (" + std::string(code) + ")";
  fail("invalid character `" + shown + "`" + suffix, rangeHere(c.length));
}

void Lexer::lexOperator() {
  Operator found = matchOperator(text_.substr(pos_, 3));
  if (!found.length) failCharacter();
  Place start = here();
  char c = peek();
  if (atFieldLevel() && c == ':') {
    ++pos_;
    fstrings_.back().fields.back().inFormatSpec = true;
    return emit(TokenKind::FormatColon, start);
  }
  if (found.kind == TokenKind::Exclaim && !atFieldLevel()) failCharacter();
  if (c == '(' || c == '[' || c == '{') openBracket(c);
  if (c == ')' || c == ']' || c == '}') closeBracket(c);
  pos_ += found.length;
  emit(found.kind, start);
}

void Lexer::openBracket(char open) {
  if (brackets_.size() == maxBracketDepth)
    fail("too many nested brackets (more than " + std::to_string(maxBracketDepth) + ")", rangeHere(1));
  brackets_.push_back({open, here()});
}

void Lexer::closeBracket(char close) {
  bool closesField = atFieldLevel();
  if (closesField && close != '}') fail("f-string: unmatched " + quoted(close), rangeHere(1));
  if (brackets_.empty()) fail("unmatched " + quoted(close), rangeHere(1));
  const Bracket& open = brackets_.back();
  if (closerOf(open.open) != close) {
    std::string message = "closing bracket " + quoted(close) + " does not match opening bracket " + quoted(open.open);
    if (open.place.line != line_) message += " on line " + std::to_string(open.place.line);
    fail(message, rangeHere(1));
  }
  brackets_.pop_back();
  if (closesField) fstrings_.back().fields.pop_back();
}

void Lexer::lexLineEnd() {
  bool joined = !brackets_.empty();
  if (!joined) emitEmpty(TokenKind::Newline);
  skipNewline();
  atLineStart_ = !joined;
}

void Lexer::lexContinuation() {
  ++pos_;
  if (atEnd()) fail("unexpected end of file after line continuation character", rangeHere(0));
  if (!atNewline()) fail("unexpected character after line continuation character", rangeHere(1));
  skipNewline();
  if (atEnd()) fail("unexpected end of file after line continuation character", rangeHere(0));
}

void Lexer::skipComment() {
  while (!atEnd() && !atNewline()) ++pos_;
}

// "\n", "\r\n" and a lone "\r" end a line; only those with "\n" count as lines of the file.
void Lexer::skipNewline() {
  if (peek() == '\r' && peek(1) == '\n') ++pos_;
  bool counted = peek() == '\n';
  ++pos_;
  if (counted) ++line_, lineStart_ = pos_;
}

void Lexer::emit(TokenKind kind, const Place& start) {
  result_.tokens.push_back({kind, start.offset, pos_ - start.offset, rangeFrom(start)});
}

void Lexer::emitEmpty(TokenKind kind) { result_.tokens.push_back({kind, pos_, 0, rangeHere(1)}); }

SourceRange Lexer::rangeFrom(const Place& start) const {
  return {start.line, start.column, line_, pos_ - lineStart_ + 1};
}

SourceRange Lexer::rangeHere(uint32_t length) const {
  Place at = here();
  return {at.line, at.column, at.line, at.column + std::max(length, 1u)};
}

void Lexer::fail(std::string message, SourceRange range) {
  Diagnostic diagnostic;
  diagnostic.kind = "syntax";
  diagnostic.message = std::move(message);
  diagnostic.file = file_;
  diagnostic.range = range;
  throw CompileError(std::move(diagnostic));
}

}  // namespace tandem::frontend
