// [[fill]align][sign][#][0][width][,][.precision][type], as Python reads it.
#include "compiler/frontend/semantic/format_spec.h"
#include "compiler/frontend/semantic/number_text.h"
#include <cstdio>

namespace tandem::frontend {
namespace {

constexpr int kMaxWidth = 1000;

struct Spec {
  char fill = ' ', align = 0, sign = '-', group = 0, type = 0;
  bool prefix = false;
  int width = 0, precision = -1;
};

class Reader {
 public:
  explicit Reader(const std::string& text) : text_(text) {}

  // False when the text is no format spec.
  bool read(Spec& s) {
    auto aligns = [](char c) { return c == '<' || c == '>' || c == '^' || c == '='; };
    if (text_.size() > 1 && aligns(text_[1])) s.fill = take();
    if (aligns(peek())) s.align = take();
    if (peek() == '+' || peek() == '-' || peek() == ' ') s.sign = take();
    if (peek() == '#') s.prefix = take();
    if (peek() == '0') {
      take();
      if (!s.align) s.fill = '0', s.align = '=';
    }
    if (isDigit() && !number(s.width)) return false;
    if (peek() == ',' || peek() == '_') s.group = take();
    if (peek() == '.') {
      take();
      if (!isDigit() || !number(s.precision)) return false;
    }
    if (at_ < text_.size()) s.type = take();
    return at_ == text_.size();
  }

 private:
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  char take() { return text_[at_++]; }
  bool isDigit() const { return peek() >= '0' && peek() <= '9'; }
  bool number(int& out) {
    for (out = 0; isDigit();) {
      out = out * 10 + (take() - '0');
      if (out > kMaxWidth) return false;
    }
    return true;
  }

  const std::string& text_;
  size_t at_ = 0;
};

std::string padded(const Spec& s, char fallback, const std::string& head, const std::string& body) {
  size_t length = head.size() + body.size(), room = size_t(s.width) > length ? size_t(s.width) - length : 0;
  char align = s.align ? s.align : fallback;
  size_t before = align == '>' ? room : align == '^' ? room / 2 : 0, inside = align == '=' ? room : 0;
  return std::string(before, s.fill) + head + std::string(inside, s.fill) + body +
         std::string(room - before - inside, s.fill);
}

std::string digitsOf(Int value, unsigned base, bool upper) {
  std::string digits;
  do {
    digits.insert(digits.begin(), (upper ? "0123456789ABCDEF" : "0123456789abcdef")[int(value % base)]);
    value /= base;
  } while (value);
  return digits;
}

void group(std::string& digits, size_t end, size_t size, char separator) {
  for (size_t at = end; at > size; at -= size) digits.insert(at - size, 1, separator);
}

std::string signText(const Spec& s, bool negative) {
  return negative ? "-" : s.sign == '-' ? "" : std::string(1, s.sign);
}

std::optional<std::string> formatInteger(const Spec& s, Int value) {
  unsigned base = s.type == 'b' ? 2 : s.type == 'o' ? 8 : s.type == 'x' || s.type == 'X' ? 16 : 10;
  if ((base == 10 && s.type && s.type != 'd') || s.precision >= 0 || (base != 10 && s.group == ',')) return {};
  std::string digits = digitsOf(value < 0 ? -value : value, base, s.type == 'X');
  if (s.group) group(digits, digits.size(), base == 10 ? 3 : 4, s.group);
  std::string head = signText(s, value < 0);
  if (s.prefix && base != 10) head += std::string("0") + s.type;
  return padded(s, '>', head, digits);
}

std::optional<std::string> formatFloat(const Spec& s, double value) {
  std::string letters = "eEfFgG%";
  if (s.prefix || (s.type ? letters.find(s.type) == std::string::npos : s.precision >= 0)) return {};
  double size = std::abs(value);
  std::string digits = floatText(size);
  if (s.type) {
    char pattern[] = {'%', '.', '*', s.type == '%' ? 'f' : s.type, 0}, buffer[2048];
    snprintf(buffer, sizeof buffer, pattern, s.precision < 0 ? 6 : s.precision, s.type == '%' ? size * 100 : size);
    digits = buffer;
  }
  if (s.group) group(digits, std::min(digits.size(), digits.find_first_not_of("0123456789")), 3, s.group);
  if (s.type == '%') digits += '%';
  return padded(s, '>', signText(s, std::signbit(value)), digits);
}

std::optional<std::string> formatString(const Spec& s, std::string value) {
  if ((s.type && s.type != 's') || s.prefix || s.group || s.sign != '-' || s.align == '=') return {};
  if (s.precision >= 0 && size_t(s.precision) < value.size()) value.resize(size_t(s.precision));
  return padded(s, '<', "", value);
}

std::optional<std::string> format(const Spec& s, const Value& v) {
  // Grouped digits after padding with zeros would have to be grouped again.
  if (s.group && s.align == '=') return {};
  if (v.is<std::string>()) return formatString(s, v.as<std::string>());
  if (v.is<double>()) return formatFloat(s, v.as<double>());
  if (!v.isNumber()) return {};
  Int n = v.is<bool>() ? Int(v.as<bool>()) : v.as<Int>();
  bool asFloat = s.type && std::string("eEfFgG%").find(s.type) != std::string::npos;
  return asFloat ? formatFloat(s, double(n)) : formatInteger(s, n);
}

}  // namespace

std::string formatConstant(const Context& c, const Value& v, const std::string& text) {
  Spec spec;
  std::optional<std::string> out;
  if (Reader(text).read(spec)) out = format(spec, v);
  if (!out) c.fail("format-spec", "format spec `" + text + "` is not supported for " + describe(v));
  return *out;
}

}  // namespace tandem::frontend
