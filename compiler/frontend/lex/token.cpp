// Spellings of tokens, and the two look-ups by spelling.
#include "compiler/frontend/lex/token.h"
#include <array>
#include <unordered_map>

namespace tandem::frontend {
namespace {

constexpr auto spellings = std::to_array<std::string_view>({"end of file",
                                                            "error",
                                                            "end of line",
                                                            "indent",
                                                            "unindent",
                                                            "name",
                                                            "integer",
                                                            "float",
                                                            "imaginary number",
                                                            "string",
                                                            "bytes",
                                                            "f-string",
                                                            "f-string text",
                                                            "f-string end",
                                                            ":",
                                                            "(",
                                                            ")",
                                                            "[",
                                                            "]",
                                                            "{",
                                                            "}",
                                                            ",",
                                                            ":",
                                                            ";",
                                                            ".",
                                                            "...",
                                                            "->",
                                                            "@",
                                                            "!",
                                                            "~",
                                                            ":=",
                                                            "=",
                                                            "+",
                                                            "-",
                                                            "*",
                                                            "/",
                                                            "//",
                                                            "%",
                                                            "**",
                                                            "<<",
                                                            ">>",
                                                            "&",
                                                            "|",
                                                            "^",
                                                            "==",
                                                            "!=",
                                                            "<",
                                                            "<=",
                                                            ">",
                                                            ">=",
                                                            "+=",
                                                            "-=",
                                                            "*=",
                                                            "/=",
                                                            "//=",
                                                            "%=",
                                                            "@=",
                                                            "&=",
                                                            "|=",
                                                            "^=",
                                                            "<<=",
                                                            ">>=",
                                                            "**=",
                                                            "False",
                                                            "None",
                                                            "True",
                                                            "and",
                                                            "as",
                                                            "assert",
                                                            "async",
                                                            "await",
                                                            "break",
                                                            "class",
                                                            "continue",
                                                            "def",
                                                            "del",
                                                            "elif",
                                                            "else",
                                                            "except",
                                                            "finally",
                                                            "for",
                                                            "from",
                                                            "global",
                                                            "if",
                                                            "import",
                                                            "in",
                                                            "is",
                                                            "lambda",
                                                            "nonlocal",
                                                            "not",
                                                            "or",
                                                            "pass",
                                                            "raise",
                                                            "return",
                                                            "try",
                                                            "while",
                                                            "with",
                                                            "yield"});
static_assert(spellings.size() == size_t(TokenKind::KwYield) + 1);

constexpr size_t firstOperator = size_t(TokenKind::LParen), lastOperator = size_t(TokenKind::DoubleStarEqual);

struct Bucket {
  std::array<Operator, 4> operators;  // longest first
  size_t count = 0;
};

// Operators by their first character.
constexpr std::array<Bucket, 128> makeBuckets() {
  std::array<Bucket, 128> buckets{};
  for (uint32_t length = 3; length > 0; --length)
    for (size_t i = firstOperator; i <= lastOperator; ++i)
      if (spellings[i].size() == length) {
        Bucket& bucket = buckets[size_t(spellings[i][0])];
        bucket.operators[bucket.count++] = {TokenKind(i), length};
      }
  return buckets;
}
constexpr std::array<Bucket, 128> buckets = makeBuckets();

std::unordered_map<std::string_view, TokenKind> makeKeywords() {
  std::unordered_map<std::string_view, TokenKind> keywords;
  for (size_t i = size_t(TokenKind::KwFalse); i < spellings.size(); ++i) keywords[spellings[i]] = TokenKind(i);
  return keywords;
}

}  // namespace

std::string_view spelling(TokenKind kind) { return spellings[size_t(kind)]; }

TokenKind keywordOrName(std::string_view word) {
  static const std::unordered_map<std::string_view, TokenKind> keywords = makeKeywords();
  constexpr size_t shortest = 2, longest = 8;
  if (word.size() < shortest || word.size() > longest) return TokenKind::Name;
  auto found = keywords.find(word);
  return found == keywords.end() ? TokenKind::Name : found->second;
}

Operator matchOperator(std::string_view text) {
  if (text.empty() || static_cast<unsigned char>(text[0]) >= buckets.size()) return {};
  const Bucket& bucket = buckets[size_t(text[0])];
  for (size_t i = 0; i < bucket.count; ++i)
    if (text.starts_with(spelling(bucket.operators[i].kind))) return bucket.operators[i];
  return {};
}

}  // namespace tandem::frontend
