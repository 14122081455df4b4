// The lexer's state. One pass over the bytes; each construct has its own file.
#pragma once
#include "compiler/frontend/lex/lex.h"

namespace tandem::frontend {

class Lexer {
 public:
  explicit Lexer(SourceFilePtr file);
  LexResult run();

 private:
  struct Place {
    uint32_t offset = 0, line = 0, column = 0;
  };
  struct Bracket {
    char open = 0;
    Place place;
  };
  // Width with tabs to multiples of 8, and with tabs as one; comparing both finds ambiguous mixtures.
  struct Indentation {
    uint32_t width = 0, alternate = 0;
  };
  // One replacement field of an f-string that is still open.
  struct Field {
    size_t bracketDepth = 0;  // number of open brackets, its own `{` included
    bool inFormatSpec = false;
  };
  struct FString {
    Place start;
    char quote = 0;
    bool triple = false, raw = false;
    std::vector<Field> fields;
  };

  // lexer.cpp
  void lexAll();
  void checkBytes();
  void finish();
  void lexToken();
  void lexName();
  void lexOperator();
  void lexLineEnd();
  void lexContinuation();
  void skipComment();
  void openBracket(char open);
  void closeBracket(char close);
  [[noreturn]] void failCharacter();

  // indentation.cpp
  void lexIndentation();
  Indentation measureIndentation();
  void applyIndentation(Indentation found);

  // number.cpp
  void lexNumber();
  void lexRadixNumber(bool (*isDigit)(char), const char* name);
  void lexDecimalNumber();
  bool skipExponent();
  void skipDigits(bool (*isDigit)(char), const char* name);
  void checkNumberEnd(const char* name);

  // string.cpp
  bool atStringQuote(std::string_view prefix) const;
  void lexString(Place start, std::string_view prefix);
  void lexFStringText();
  void skipFStringText();
  bool skipFStringBrace();
  void skipBackslash(bool named);
  bool atQuote(char quote, bool triple) const;
  bool inFStringText() const;
  bool atFieldLevel() const;
  void openField();
  [[noreturn]] void failUnterminated(const Place& start, const FString* open, bool triple);

  char peek(size_t ahead = 0) const { return pos_ + ahead < text_.size() ? text_[pos_ + ahead] : '\0'; }
  bool atEnd() const { return pos_ >= text_.size(); }
  bool atNewline() const { return peek() == '\n' || peek() == '\r'; }
  void skipNewline();
  Place here() const { return {pos_, line_, pos_ - lineStart_ + 1}; }
  void emit(TokenKind kind, const Place& start);
  void emitEmpty(TokenKind kind);
  SourceRange rangeFrom(const Place& start) const;
  SourceRange rangeHere(uint32_t length) const;
  [[noreturn]] void fail(std::string message, SourceRange range);

  SourceFilePtr file_;
  std::string_view text_;
  uint32_t pos_ = 0, line_ = 1, lineStart_ = 0;
  bool atLineStart_ = true;
  bool indentationKnown_ = false;
  std::vector<Indentation> indentations_;
  std::vector<Bracket> brackets_;
  std::vector<FString> fstrings_;
  LexResult result_;
};

}  // namespace tandem::frontend
