// Products of operands in a microscaling format, as products of what the operands stand for.
#pragma once
#include "compiler/dialect/tile/tile.h"
#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tandem::transform::nvidia {

// Decodes and scales the operands of the kernel's scaled products, exactly, into bfloat16 tiles, or float32 ones where float16
// takes part, and multiplies these. Returns true if there were any.
bool multiplyDecoded(mlir::func::FuncOp kernel);

}  // namespace tandem::transform::nvidia
