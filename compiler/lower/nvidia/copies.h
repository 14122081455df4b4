// cp.async: tiles that the block's own threads copy ahead into slots of shared memory.
#pragma once
#include "compiler/dialect/tgpu/products.h"
#include "compiler/lower/gpu/dot.h"
#include "compiler/lower/nvidia/kernel.h"

namespace tandem::lower::nvidia {

// The next fill is of slot 0; all threads have read what the ring held.
void awaitCopies(KernelContext& cx, Ring& ring);
// The places of a buffer's elements, by which threads copy, store and read them.
LinearLayout offsetsIn(KernelContext& cx, mlir::Value buffer);
SharedOperand placeOf(KernelContext& cx, tgpu::SlotOperand operand);

}  // namespace tandem::lower::nvidia
