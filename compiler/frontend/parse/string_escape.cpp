// Escape sequences of string literals.
#include "compiler/frontend/parse/string_escape.h"
#include "compiler/frontend/lex/character.h"

namespace tandem::frontend {
namespace {

int digitValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 16;
}

class Decoder {
 public:
  Decoder(std::string_view text, const StringRules& rules, std::string& out) : text_(text), rules_(rules), out_(out) {}

  std::optional<EscapeError> run() {
    while (at_ < text_.size() && !error_) step();
    return std::move(error_);
  }

 private:
  void step() {
    char c = text_[at_];
    if (c == '\r') {
      at_ += next() == '\n' ? 2 : 1;
      out_ += '\n';
    } else if (c == '\\' && !rules_.raw && at_ + 1 < text_.size()) {
      escape();
    } else if (rules_.doubledBraces && (c == '{' || c == '}') && next() == c) {
      at_ += 2;
      out_ += c;
    } else if (rules_.bytes && static_cast<unsigned char>(c) >= 0x80) {
      fail(1, "bytes can only contain ASCII literal characters");
    } else {
      ++at_;
      out_ += c;
    }
  }

  void escape() {
    char c = next();
    switch (c) {
      case '\r': at_ += at_ + 2 < text_.size() && text_[at_ + 2] == '\n' ? 3 : 2; return;
      case '\n': at_ += 2; return;
      case 'x': return number(2, 2, 16);
      case 'u': return rules_.bytes ? keep() : number(2, 4, 16);
      case 'U': return rules_.bytes ? keep() : number(2, 8, 16);
      case 'N': return rules_.bytes ? keep() : named();
      default: break;
    }
    if (c >= '0' && c <= '7') return octal();
    constexpr std::string_view letters = "\\'\"abfnrtv", values = "\\'\"\a\b\f\n\r\t\v";
    size_t found = letters.find(c);
    if (found == std::string_view::npos) return keep();
    at_ += 2;
    out_ += values[found];
  }

  // An unknown escape stands for itself, backslash included.
  void keep() {
    ++at_;
    out_ += '\\';
  }

  void number(size_t skip, size_t count, int radix) {
    uint32_t value = 0;
    for (size_t i = 0; i < count; ++i) {
      int digit = at_ + skip + i < text_.size() ? digitValue(text_[at_ + skip + i]) : radix;
      if (digit >= radix)
        return fail(skip + i, "truncated `\\" + std::string(1, next()) + "` escape: expected " + std::to_string(count) +
                                  " hexadecimal digits");
      value = value * uint32_t(radix) + uint32_t(digit);
    }
    if (value > 0x10ffff) return fail(skip + count, "escape is beyond the last Unicode character");
    at_ += skip + count;
    appendUtf8(out_, value);
  }

  void octal() {
    size_t count = 1;
    while (count < 3 && at_ + 1 + count < text_.size() && digitValue(text_[at_ + 1 + count]) < 8) ++count;
    number(1, count, 8);
  }

  void named() {
    size_t close = text_.find('}', at_);
    bool isOpen = at_ + 2 < text_.size() && text_[at_ + 2] == '{';
    bool isNamed = isOpen && close != std::string_view::npos && close > at_ + 3;
    if (!isNamed) return fail(2, "malformed `\\N` character escape");
    constexpr uint32_t replacementCharacter = 0xfffd;
    appendUtf8(out_, replacementCharacter);
    at_ = close + 1;
  }

  char next() const { return at_ + 1 < text_.size() ? text_[at_ + 1] : '\0'; }
  void fail(size_t length, std::string message) { error_ = {at_, length, std::move(message)}; }

  std::string_view text_;
  const StringRules& rules_;
  std::string& out_;
  size_t at_ = 0;
  std::optional<EscapeError> error_;
};

}  // namespace

std::optional<EscapeError> decodeString(std::string_view text, const StringRules& rules, std::string& out) {
  bool isPlain = !rules.bytes && text.find_first_of("\\\r{}") == std::string_view::npos;
  if (isPlain) {
    out += text;
    return std::nullopt;
  }
  return Decoder(text, rules, out).run();
}

}  // namespace tandem::frontend
