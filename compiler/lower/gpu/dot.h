// Products by multiply-adds of the threads.
#pragma once
#include "compiler/lower/gpu/kernel.h"

namespace tandem::lower::gpu {

void lowerMultiplyAdd(KernelContext& cx, tile::DotOp op);

}  // namespace tandem::lower::gpu
