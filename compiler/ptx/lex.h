// PTX text as tokens, with LLVM's `$` forms read: $0, ${0}, ${:uid}, $$.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::ptx {

struct Token {
  enum class Kind : uint8_t { Word, Operand, Integer, Real, Mark, End };
  Kind kind{};
  std::string text;   // a word with its % or $; a mark's one character
  uint64_t bits = 0;  // of a number, as in ptx::Operand; an operand's index
  unsigned realBits = 0;
  size_t begin = 0, end = 0;  // where it stands in the text
};

struct Tokens {
  std::vector<Token> list;  // ends with End
  std::string error;        // not empty: a character or number that is none
};

Tokens lex(std::string_view text);

}  // namespace tandem::ptx
