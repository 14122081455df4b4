// Indentation at the start of a logical line: blank lines are skipped, Indent and Dedent tokens are made.
#include "compiler/frontend/lex/lexer.h"

namespace tandem::frontend {
namespace {

constexpr size_t maxIndentationDepth = 100;
constexpr uint32_t tabWidth = 8;

}  // namespace

void Lexer::lexIndentation() {
  Indentation found = measureIndentation();
  if (peek() == '#') skipComment();
  if (atEnd()) return;
  if (atNewline()) return skipNewline();
  atLineStart_ = false;
  applyIndentation(found);
}

// A backslash may split the indentation over lines; the width in front of the first one counts.
Lexer::Indentation Lexer::measureIndentation() {
  Indentation found, beforeBackslash;
  bool split = false;
  for (;; ++pos_) {
    char c = peek();
    if (c == ' ') {
      ++found.width, ++found.alternate;
    } else if (c == '\t') {
      found.width = (found.width / tabWidth + 1) * tabWidth;
      ++found.alternate;
    } else if (c == '\f') {
      found = {};
    } else if (c == '\\') {
      if (!split) beforeBackslash = found;
      split = true;
      lexContinuation();
      found = {};
      --pos_;
    } else {
      return split ? beforeBackslash : found;
    }
  }
}

void Lexer::applyIndentation(Indentation found) {
  if (!indentationKnown_) {
    indentationKnown_ = true;
    indentations_.push_back(found);
    return;
  }
  constexpr const char* mixed = "inconsistent use of tabs and spaces in indentation";
  if (found.width > indentations_.back().width) {
    if (found.alternate <= indentations_.back().alternate) fail(mixed, rangeHere(1));
    if (indentations_.size() == maxIndentationDepth)
      fail("too many levels of indentation (more than " + std::to_string(maxIndentationDepth) + ")", rangeHere(1));
    indentations_.push_back(found);
    return emitEmpty(TokenKind::Indent);
  }
  while (indentations_.size() > 1 && found.width < indentations_.back().width) {
    indentations_.pop_back();
    emitEmpty(TokenKind::Dedent);
  }
  if (found.width != indentations_.back().width)
    fail("unindent does not match any outer indentation level", rangeHere(1));
  if (found.alternate != indentations_.back().alternate) fail(mixed, rangeHere(1));
}

}  // namespace tandem::frontend
