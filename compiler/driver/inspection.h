// A developer of the compiler can ask for these: the IR after each pass, and a file that reproduces a failure.
#pragma once
#include "compiler/pipeline/watch.h"
#include <stdexcept>

namespace tandem::compiler {

// Writes a kernel's IR into files of a new folder `$TANDEM_DUMP/NAME.N`: `00-emit.mlir`, then one for each pass, whose
// first line says how long it took. Hands it to the printer of `setPassPrinter` as well. Without either, nothing.
// Throws CompileError where it cannot write.
pipeline::PassObserver passObserver(mlir::Operation* module, llvm::StringRef kernel);

// The compiler's own fault, in a pass or behind the last one. The context may be broken.
struct InternalFailure : std::runtime_error {
  InternalFailure(std::string stage, const std::string& what) : runtime_error(what), stage(std::move(stage)) {}
  std::string stage;
};

// Returns the path of a new file that will reproduce a failure, in `$TANDEM_DUMP` or the folder of temporary files.
std::string reproducerPath();

}  // namespace tandem::compiler
