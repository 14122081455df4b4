// Copies by the tensor memory accelerator.
#pragma once
#include "compiler/lower/nvidia/kernel.h"

namespace tandem::lower::nvidia {

// The recipes of the tensor maps that the kernel's copies use, and the parameter each copy's has.
void collectTensorMaps(KernelContext& cx, mlir::func::FuncOp kernel);

}  // namespace tandem::lower::nvidia
