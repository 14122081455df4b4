// UTF-8 coding. The identifier classes live in identifier_ranges.cpp.
#include "compiler/frontend/lex/character.h"

namespace tandem::frontend {

CodePoint decodeUtf8(std::string_view text) {
  if (text.empty()) return {};
  auto byte = [&](size_t i) { return uint32_t(static_cast<unsigned char>(text[i])); };
  uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  uint32_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return {};
  uint32_t value = lead & (0x7fu >> length);
  for (uint32_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    value = value << 6 | (byte(i) & 0x3f);
  }
  constexpr uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  bool surrogate = value >= 0xd800 && value <= 0xdfff;
  if (value < smallest[length] || value > 0x10ffff || surrogate) return {};
  return {value, length};
}

void appendUtf8(std::string& out, uint32_t value) {
  auto tail = [&](int shift) { out += char(0x80 | (value >> shift & 0x3f)); };
  if (value < 0x80) {
    out += char(value);
  } else if (value < 0x800) {
    out += char(0xc0 | value >> 6);
    tail(0);
  } else if (value < 0x10000) {
    out += char(0xe0 | value >> 12);
    tail(6);
    tail(0);
  } else {
    out += char(0xf0 | value >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

}  // namespace tandem::frontend
