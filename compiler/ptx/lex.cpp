// Words, numbers, marks.
#include "compiler/ptx/lex.h"
#include <bit>
#include <cctype>
#include <cstdlib>

namespace tandem::ptx {
namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isWordCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '%'; }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Tokens run() {
    while (out_.error.empty()) {
      skip();
      if (at_ >= text_.size()) break;
      begin_ = at_;
      char c = text_[at_];
      if (c == '$' && !startsWord())
        operand();
      else if (isDigit(c) && !followsPoint())
        number();
      else if (isWordCharacter(c) || c == '$')
        word();
      else
        push(Token::Kind::Mark, std::string(1, text_[at_++]));
    }
    begin_ = at_;
    push(Token::Kind::End, "end of text");
    return std::move(out_);
  }

 private:
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool has(std::string_view s) const { return text_.substr(at_).starts_with(s); }
  void fail(const std::string& message) { out_.error = message; }
  Token& push(Token::Kind kind, std::string text) {
    Token token;
    token.kind = kind;
    token.text = std::move(text);
    token.begin = begin_;
    token.end = at_;
    return out_.list.emplace_back(std::move(token));
  }

  void skip() {
    while (at_ < text_.size()) {
      if (has("//"))
        at_ = std::min(text_.find('\n', at_), text_.size());
      else if (has("/*"))
        at_ = std::min(text_.find("*/", at_ + 2), text_.size() - 2) + 2;
      else if (std::isspace(static_cast<unsigned char>(text_[at_])))
        ++at_;
      else
        return;
    }
  }

  // A modifier may begin with a digit: `.2d`.
  bool followsPoint() const {
    return !out_.list.empty() && out_.list.back().text == "." && out_.list.back().end == at_;
  }
  // `$$` and `${:uid}` belong to words: the first is a dollar, the second a number that tells copies of the text apart.
  bool startsWord() const { return has("$$") || has("${:uid}"); }

  void operand() {
    bool braced = peek(1) == '{';
    at_ += braced ? 2 : 1;
    uint64_t index = 0;
    size_t digits = at_;
    while (isDigit(peek()) && index < 100000) index = index * 10 + uint64_t(text_[at_++] - '0');
    if (at_ == digits) return fail("`$` names no operand");
    if (braced) {
      if (peek() == ':')
        while (at_ < text_.size() && peek() != '}') ++at_;
      if (peek() != '}') return fail("`${` has no end");
      ++at_;
    }
    push(Token::Kind::Operand, "$" + std::to_string(index)).bits = index;
  }

  void word() {
    std::string name;
    while (at_ < text_.size()) {
      if (has("${:uid}"))
        at_ += 7;
      else if (has("$$"))
        at_ += 2, name += '$';
      else if (isWordCharacter(peek()))
        name += text_[at_++];
      else
        break;
    }
    push(Token::Kind::Word, std::move(name));
  }

  void number() {
    std::string digits;
    while (at_ < text_.size()) {
      char c = peek();
      bool exponent = !digits.empty() && (digits.back() == 'e' || digits.back() == 'E') && (c == '+' || c == '-') &&
                      digits.find_first_of("xX") == std::string::npos;
      if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && !exponent) break;
      digits += c;
      ++at_;
    }
    char mark = digits.size() > 1 ? char(std::tolower(static_cast<unsigned char>(digits[1]))) : '\0';
    if (digits[0] == '0' && (mark == 'f' || mark == 'd')) return bitPattern(digits, mark == 'f' ? 32 : 64);
    bool isReal =
        digits.find('.') != std::string::npos || (mark != 'x' && digits.find_first_of("eE") != std::string::npos);
    if (isReal)
      real(digits);
    else
      integer(digits, mark);
  }

  void bitPattern(const std::string& digits, unsigned bits) {
    char* end = nullptr;
    uint64_t value = std::strtoull(digits.c_str() + 2, &end, 16);
    if (*end || digits.size() != 2 + bits / 4) return fail("`" + digits + "` is no number");
    Token& token = push(Token::Kind::Real, digits);
    token.bits = value;
    token.realBits = bits;
  }

  void real(const std::string& digits) {
    char* end = nullptr;
    double value = std::strtod(digits.c_str(), &end);
    if (*end) return fail("`" + digits + "` is no number");
    push(Token::Kind::Real, digits).bits = std::bit_cast<uint64_t>(value);
  }

  void integer(std::string digits, char mark) {
    std::string written = digits;
    if (digits.back() == 'U' || digits.back() == 'u') digits.pop_back();
    int base = mark == 'x' ? 16 : mark == 'b' ? 2 : digits[0] == '0' ? 8 : 10;
    const char* first = digits.c_str() + (base == 16 || base == 2 ? 2 : 0);
    char* end = nullptr;
    uint64_t value = std::strtoull(first, &end, base);
    if (*end || end == first || !isalnum(static_cast<unsigned char>(*first)))
      return fail("`" + written + "` is no number");
    push(Token::Kind::Integer, written).bits = value;
  }

  std::string_view text_;
  size_t at_ = 0, begin_ = 0;
  Tokens out_;
};

}  // namespace

Tokens lex(std::string_view text) { return Lexer(text).run(); }

}  // namespace tandem::ptx
