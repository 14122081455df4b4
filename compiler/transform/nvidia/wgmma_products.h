// The last step of select-products: products become wgmma, with their operands where it reads them.
#pragma once
#include "compiler/transform/nvidia/consumer.h"
#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tandem::transform::nvidia {

// Replaces `dots` by wgmma. Operands that no ring holds come from registers, or through a buffer of their own. The
// rings' loads, which nothing reads then, are erased.
void multiplyByWgmma(mlir::func::FuncOp kernel, llvm::ArrayRef<tile::DotOp> dots, llvm::ArrayRef<RingPlan> rings,
                     const ProductTimings& timings);

}  // namespace tandem::transform::nvidia
