// Lowers one MLIR function to the interpreter's form. Knows nothing of Python or of how the program is run.
#pragma once
#include "base/diagnostic.h"
#include "interpreter/program.h"
#include <memory>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <vector>

namespace tandem::lower {

// Lowers `kernel`, which is verified and has all calls inlined. Source positions of ops are looked up in `files` by
// name. Throws CompileError, at the op's source line, for anything the simulator cannot run.
std::shared_ptr<interpreter::Program> lowerToProgram(mlir::func::FuncOp kernel,
                                                     const std::vector<SourceFilePtr>& files);

}  // namespace tandem::lower
