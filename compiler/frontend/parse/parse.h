// Text to syntax tree: Python 3.12's grammar. Never crashes or hangs, whatever the bytes.
#pragma once
#include "base/diagnostic.h"
#include "compiler/frontend/ast/ast.h"

namespace tandem::frontend {

// Parses a whole file. A function cut out of a class or another function may be indented: a common
// indentation of all lines is accepted and columns still refer to the text as given.
// Throws CompileError (kind "syntax") at the first error.
ast::Module parse(SourceFilePtr file);

}  // namespace tandem::frontend
