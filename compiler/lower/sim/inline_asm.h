// The texts of `tile.inline_asm` that stand for one instruction of the interpreter.
#pragma once
#include "compiler/lower/sim/program_builder.h"
#include <llvm/ADT/StringRef.h>
#include <vector>

namespace tandem::lower {

struct KnownAsm {
  llvm::StringRef text;  // one space between words, no newline
  interpreter::Op op;
  uint8_t sub = 0;
  std::vector<int64_t> immediates = {};
  bool differsByThread = false;
};

// Null when the simulator does not know the text. Spacing and newlines do not matter.
const KnownAsm* findKnownAsm(llvm::StringRef text);

}  // namespace tandem::lower
