// Characters, words, numbers and operands of PTX.
#include "emulator/ptx/parser.h"
#include <bit>
#include <cctype>
#include <cstdlib>

namespace tandem::emulator::ptx {
namespace {

bool isWordCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%'; }

}  // namespace

void Parser::skipSpace() {
  while (at_ < text_.size()) {
    char c = text_[at_];
    if (c == '\n') {
      ++line_;
      ++at_;
    } else if (std::isspace(static_cast<unsigned char>(c))) {
      ++at_;
    } else if (text_.substr(at_, 2) == "//") {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (text_.substr(at_, 2) == "/*") {
      size_t end = std::min(text_.find("*/", at_), text_.size() - 2) + 2;
      for (; at_ < end; ++at_) line_ += text_[at_] == '\n';
    } else {
      return;
    }
  }
}

char Parser::peek() {
  skipSpace();
  return at_ < text_.size() ? text_[at_] : '\0';
}

bool Parser::takeIf(char c) {
  if (peek() != c || c == '\0') return false;
  return ++at_, true;
}

void Parser::expect(char c) {
  if (!takeIf(c)) fail(std::string("`") + c + "` expected before `" + std::string(text_.substr(at_, 20)) + "`");
}

bool Parser::atWord(std::string_view word) {
  skipSpace();
  size_t end = at_ + word.size();
  return text_.substr(at_, word.size()) == word && (end >= text_.size() || !isWordCharacter(text_[end]));
}

bool Parser::takeWord(std::string_view word) {
  if (!atWord(word)) return false;
  return at_ += word.size(), true;
}

// A special register has a part: %tid.x.
std::string Parser::word(const char* what) {
  skipSpace();
  size_t begin = at_;
  while (at_ < text_.size() && (isWordCharacter(text_[at_]) || (text_[at_] == '.' && text_[begin] == '%'))) ++at_;
  if (at_ == begin) fail(std::string(what) + " expected before `" + std::string(text_.substr(at_, 20)) + "`");
  return std::string(text_.substr(begin, at_ - begin));
}

std::string Parser::directive() {
  expect('.');
  return word("a directive");
}

void Parser::skipTo(char end) {
  while (peek() != end && at_ < text_.size()) ++at_;
  expect(end);
}

void Parser::skipBraces() {
  expect('{');
  for (int depth = 1; depth; ++at_) {
    if (char c = peek(); c == '{')
      ++depth;
    else if (c == '}')
      --depth;
    else if (c == '\0')
      fail("`}` expected");
  }
}

uint64_t Parser::integer() {
  Operand o = number();
  if (o.kind != Operand::Kind::Integer) fail("an integer expected");
  return o.bits;
}

Operand Parser::number() {
  Operand out;
  bool isNegative = takeIf('-');
  peek();
  std::string digits;
  size_t begin = at_;
  while (at_ < text_.size() && (isWordCharacter(text_[at_]) || text_[at_] == '.' ||
                                ((text_[at_] == '-' || text_[at_] == '+') && at_ > begin && (text_[at_ - 1] == 'e') &&
                                 text_[begin + 1] != 'x' && text_[begin + 1] != 'f' && text_[begin + 1] != 'd')))
    ++at_;
  digits = text_.substr(begin, at_ - begin);
  char kind = digits.size() > 1 && digits[0] == '0' ? char(std::tolower(digits[1])) : '\0';
  char* end = nullptr;
  if (kind == 'f' || kind == 'd') {
    out.kind = Operand::Kind::Real;
    out.realBits = kind == 'f' ? 32 : 64;
    out.bits = std::strtoull(digits.c_str() + 2, &end, 16);
    if (isNegative) out.bits ^= uint64_t(1) << (out.realBits - 1);
  } else if (kind != 'x' && digits.find_first_of(".eE") != digits.npos) {
    out.kind = Operand::Kind::Real;
    out.realBits = 64;
    double value = std::strtod(digits.c_str(), &end);
    out.bits = std::bit_cast<uint64_t>(isNegative ? -value : value);
  } else {
    out.kind = Operand::Kind::Integer;
    out.bits = kind == 'b' ? std::strtoull(digits.c_str() + 2, &end, 2) : std::strtoull(digits.c_str(), &end, 0);
    if (*end == 'U') ++end;
    if (isNegative) out.bits = 0 - out.bits;
  }
  if (digits.empty() || *end) fail("`" + digits + "` is no number");
  return out;
}

int64_t Parser::sum() {
  if (takeIf('+')) return int64_t(integer());
  return peek() == '-' ? int64_t(integer()) : 0;
}

Operand Parser::address() {
  Operand out;
  out.kind = Operand::Kind::Address;
  expect('[');
  out.parts.push_back(simple());
  out.offset = out.parts[0].offset;
  out.parts[0].offset = 0;
  while (takeIf(',')) out.parts.push_back(operand());
  expect(']');
  return out;
}

Operand Parser::list(Operand::Kind kind, char end) {
  Operand out;
  out.kind = kind;
  ++at_;
  if (takeIf(end)) return out;
  do out.parts.push_back(operand());
  while (takeIf(','));
  expect(end);
  return out;
}

Operand Parser::simple() {
  char c = peek();
  if (std::isdigit(static_cast<unsigned char>(c)) || c == '-') return number();
  Operand out;
  out.negated = takeIf('!');
  out.name = word("an operand");
  if (out.name == "_") {
    out.kind = Operand::Kind::Sink;
    return out;
  }
  out.offset = sum();
  return out;
}

Operand Parser::operand() {
  char c = peek();
  if (c == '{') return list(Operand::Kind::Vector, '}');
  if (c == '(') return list(Operand::Kind::List, ')');
  if (c == '[') return address();
  Operand first = simple();
  if (!takeIf('|')) return first;
  Operand out;
  out.kind = Operand::Kind::Pair;
  out.parts = {std::move(first), simple()};
  return out;
}

}  // namespace tandem::emulator::ptx
