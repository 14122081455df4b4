// Numbers as Python's repr() shows them: the shortest digits that read back as the same number.
#include "compiler/frontend/semantic/number_text.h"
#include <algorithm>
#include <charconv>
#include <cmath>

namespace tandem::frontend {

std::string intText(__int128 value) {
  bool negative = value < 0;
  unsigned __int128 rest = negative ? -static_cast<unsigned __int128>(value) : static_cast<unsigned __int128>(value);
  std::string digits;
  do {
    digits += char('0' + int(rest % 10));
    rest /= 10;
  } while (rest);
  if (negative) digits += '-';
  std::reverse(digits.begin(), digits.end());
  return digits;
}

// Python writes an exponent below 1e-4 and from 1e16 on.
std::string floatText(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  double size = std::fabs(value);
  bool scientific = size != 0 && (size < 1e-4 || size >= 1e16);
  char buffer[64];
  auto format = scientific ? std::chars_format::scientific : std::chars_format::fixed;
  std::string out(buffer, std::to_chars(buffer, buffer + sizeof buffer, value, format).ptr);
  if (!scientific && out.find('.') == std::string::npos) out += ".0";
  return out;
}

}  // namespace tandem::frontend
