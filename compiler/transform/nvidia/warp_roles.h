// The third decision of select-products: whether a warp of its own can fill the rings, and what it must wait for.
#pragma once
#include "compiler/dialect/tgpu/tgpu.h"
#include "compiler/transform/nvidia/ring_plan.h"
#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tandem::transform::nvidia {

// Makes the rings and their buffers, and divides `kernel` into a producer, which fills them by TMA, and consumers, which
// have all the rest; the loads stay there, to be replaced. Returns null, with the reason in `whyNot`, and has changed
// nothing if the producer could not run ahead.
tgpu::WarpSpecializeOp addProducer(mlir::func::FuncOp kernel, llvm::MutableArrayRef<RingPlan> rings,
                                   remark::Reason& whyNot);

}  // namespace tandem::transform::nvidia
