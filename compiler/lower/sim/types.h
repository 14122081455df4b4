// MLIR types as the interpreter's element and register types.
#pragma once
#include "interpreter/program.h"
#include <mlir/IR/Value.h>
#include <optional>

namespace tandem::lower {

// The element type of a scalar, tile, vector, buffer or pointer type; nothing when the interpreter has none.
std::optional<interpreter::Elem> elemOf(mlir::Type type);

// A tile: a value of the whole program, which no thread can have for itself.
bool isTile(mlir::Type type);
bool isTileOrBuffer(mlir::Type type);

// The register that holds a value of `type`: one a thread when `lanes`. Nothing for a type the interpreter has not.
std::optional<interpreter::RegisterType> registerTypeOf(mlir::Type type, bool lanes);

}  // namespace tandem::lower
