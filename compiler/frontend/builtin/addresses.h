// Addresses as the TMA names take them: pointers, buffers of shared memory, and integers of two widths.
#pragma once
#include "compiler/frontend/builtin/operands.h"

namespace tandem::frontend::builtin {

// A pointer: itself; a shared-memory buffer: its first element; a 64-bit integer: a generic address; a 32-bit integer:
// an address of the program's shared memory.
mlir::Value address(Context&, const Value&, const std::string& what);
// The same as a 64-bit integer.
mlir::Value addressBits(Context&, const Value&, const std::string& what);

}  // namespace tandem::frontend::builtin
