// Characters: UTF-8 and the Unicode classes that identifiers are made of.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace tandem::frontend {

struct CodePoint {
  uint32_t value = 0;
  uint32_t length = 0;  // bytes; 0 when the text does not start with valid UTF-8
};
CodePoint decodeUtf8(std::string_view text);

// Lone surrogates are encoded like any other value, so that every Python string has an image.
void appendUtf8(std::string& out, uint32_t codePoint);

bool startsIdentifier(uint32_t codePoint);
bool continuesIdentifier(uint32_t codePoint);

}  // namespace tandem::frontend
