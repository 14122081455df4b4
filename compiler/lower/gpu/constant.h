// Constants.
#pragma once
#include "compiler/lower/gpu/kernel.h"

namespace tandem::lower::gpu {

void lowerConstant(KernelContext& cx, mlir::arith::ConstantOp op);

}  // namespace tandem::lower::gpu
