// The text and the constraints of a tile.inline_asm, read.
#pragma once
#include "compiler/dialect/tile/tile.h"
#include "compiler/ptx/constraints.h"
#include "compiler/ptx/parse.h"

namespace tandem::lower {

struct ParsedAssembly {
  ptx::Constraints constraints;
  ptx::Body body;
  std::string error;  // not empty: the mistake in either
};

ParsedAssembly parseAssembly(tile::InlineAsmOp op);

}  // namespace tandem::lower
