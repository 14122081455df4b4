// Inline PTX text to ptx::Body.
#pragma once
#include "compiler/ptx/body.h"
#include <span>
#include <string_view>

namespace tandem::ptx {

struct Parsed {
  Body body;
  std::string error;  // not empty: why the text is wrong
};

// `operandBits`: of the register behind each $0, $1, ... Never throws; takes time and space linear in the text.
Parsed parse(std::string_view text, std::span<const unsigned> operandBits);

}  // namespace tandem::ptx
