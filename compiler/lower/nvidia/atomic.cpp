// Not written yet.
#include "compiler/lower/nvidia/kernel_lowering.h"

namespace tandem::lower::nvidia {
bool KernelLowering::lowerAtomic(mlir::Operation*) { return false; }
}  // namespace tandem::lower::nvidia
namespace tandem::lower::nvidia {
void KernelLowering::reduceElement(mlir::Operation* op, tile::Rmw, llvm::Value*, llvm::Value*, llvm::Value*) { failUnsupported(op); }
}  // namespace tandem::lower::nvidia
