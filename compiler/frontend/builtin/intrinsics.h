// Kernels may name these intrinsics of LLVM; the table says what each emits.
#pragma once
#include "compiler/frontend/builtin/rows.h"

namespace tandem::frontend::builtin {

struct Intrinsic {
  size_t operandCount = 0;
  std::function<Value(Context&, const std::vector<Value>&)> emit;
};

// Finds an intrinsic by name; a type suffix (`.f32`, `.v4f32`, `.i64`) is ignored. Returns null if it is not known.
const Intrinsic* findIntrinsic(const std::string& name);

}  // namespace tandem::frontend::builtin
