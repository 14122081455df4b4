// Blocks of strided tensors, element by element.
#pragma once
#include "compiler/lower/gpu/kernel.h"

namespace tandem::lower::gpu {

// `values`: those of the op's tile.
void lowerBlockStore(KernelContext& cx, tile::BlockStoreOp op, const Regs& values);

}  // namespace tandem::lower::gpu
