// Products of float32 tiles with nearly all bits, by tensor cores.
#pragma once
#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tandem::transform::nvidia {

// Makes three products of tf32 numbers of each that asks for them (`tf32x3`): of what tf32 holds of the operands, and of
// each operand's rest by the other one. Returns true if there were any.
bool multiplyInParts(mlir::func::FuncOp kernel);

}  // namespace tandem::transform::nvidia
