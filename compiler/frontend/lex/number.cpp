// Numeric literals: all radices, underscores, floats and imaginary numbers.
#include "compiler/frontend/lex/character.h"
#include "compiler/frontend/lex/lexer.h"

namespace tandem::frontend {
namespace {

bool isDecimal(char c) { return c >= '0' && c <= '9'; }
bool isOctal(char c) { return c >= '0' && c <= '7'; }
bool isBinary(char c) { return c == '0' || c == '1'; }
bool isHexadecimal(char c) { return isDecimal(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

// Python lets these keywords touch the number in front: `1if x else 2`.
bool startsKeyword(std::string_view rest) {
  for (std::string_view keyword : {"and", "else", "for", "if", "in", "is", "not", "or"})
    if (rest.starts_with(keyword)) return true;
  return false;
}

}  // namespace

void Lexer::lexNumber() {
  char marker = peek() == '0' ? char(peek(1) | 0x20) : '\0';
  if (marker == 'x') return lexRadixNumber(isHexadecimal, "hexadecimal");
  if (marker == 'o') return lexRadixNumber(isOctal, "octal");
  if (marker == 'b') return lexRadixNumber(isBinary, "binary");
  lexDecimalNumber();
}

void Lexer::lexRadixNumber(bool (*isDigit)(char), const char* name) {
  Place start = here();
  pos_ += 2;
  if (peek() == '_') ++pos_;
  skipDigits(isDigit, name);
  if (isDecimal(peek())) fail(std::string("invalid digit `") + peek() + "` in " + name + " literal", rangeHere(1));
  checkNumberEnd(name);
  emit(TokenKind::Int, start);
}

void Lexer::lexDecimalNumber() {
  Place start = here();
  bool isFloat = false, hasLeadingZeros = false;
  if (peek() != '.') {
    skipDigits(isDecimal, "decimal");
    std::string_view digits = text_.substr(start.offset, pos_ - start.offset);
    hasLeadingZeros = digits[0] == '0' && digits.find_first_not_of("0_") != std::string_view::npos;
  }
  if (peek() == '.') {
    ++pos_;
    isFloat = true;
    if (isDecimal(peek())) skipDigits(isDecimal, "decimal");
  }
  if (skipExponent()) isFloat = true;
  if ((peek() | 0x20) == 'j') {
    ++pos_;
    checkNumberEnd("imaginary");
    return emit(TokenKind::Imaginary, start);
  }
  if (hasLeadingZeros && !isFloat)
    fail("leading zeros in decimal integer literals are not permitted; use an `0o` prefix for octal integers",
         rangeFrom(start));
  checkNumberEnd("decimal");
  emit(isFloat ? TokenKind::Float : TokenKind::Int, start);
}

bool Lexer::skipExponent() {
  if ((peek() | 0x20) != 'e') return false;
  size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
  if (!isDecimal(peek(1 + sign))) return false;
  pos_ += 1 + uint32_t(sign);
  skipDigits(isDecimal, "decimal");
  return true;
}

// One or more digits, single underscores between them.
void Lexer::skipDigits(bool (*isDigit)(char), const char* name) {
  for (;;) {
    if (!isDigit(peek())) {
      if (isDecimal(peek())) fail(std::string("invalid digit `") + peek() + "` in " + name + " literal", rangeHere(1));
      fail(std::string("invalid ") + name + " literal", rangeHere(1));
    }
    while (isDigit(peek())) ++pos_;
    if (peek() != '_') return;
    ++pos_;
  }
}

void Lexer::checkNumberEnd(const char* name) {
  if (startsKeyword(text_.substr(pos_, 4))) return;
  CodePoint next = decodeUtf8(text_.substr(pos_, 4));
  if (next.length && continuesIdentifier(next.value)) fail(std::string("invalid ") + name + " literal", rangeHere(1));
}

}  // namespace tandem::frontend
