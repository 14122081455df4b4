// Not written yet.
#include "compiler/lower/nvidia/kernel_lowering.h"

namespace tandem::lower::nvidia {
bool KernelLowering::lowerDebug(mlir::Operation*) { return false; }
}  // namespace tandem::lower::nvidia
