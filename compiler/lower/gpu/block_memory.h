// Blocks of strided tensors, element by element.
#pragma once
#include "compiler/lower/gpu/kernel.h"

namespace tandem::lower::gpu {

void lowerBlockStore(KernelContext& cx, tile::BlockStoreOp op);

}  // namespace tandem::lower::gpu
