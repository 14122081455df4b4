// Products by mma.sync.
#pragma once
#include "compiler/lower/nvidia/kernel.h"

namespace tandem::lower::nvidia {

// A tile that no op defines.
struct Held {
  LinearLayout layout;
  Regs regs;
};
// acc + lhs · rhs, in layouts dotOperandA, dotOperandB and mmaV2Result of one grid of warps.
Regs multiply(KernelContext& cx, const Held& lhs, const Held& rhs, const Held& acc, ptx::Element kind);
void lowerDotScaled(KernelContext& cx, tile::DotScaledOp op);

}  // namespace tandem::lower::nvidia
