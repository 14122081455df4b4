// Products of float32 tiles with nearly all bits, by tensor cores.
#pragma once
#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tandem::transform::nvidia {

// Makes products of narrower numbers of each that asks for them: of two parts of each operand, as tf32 (`tf32x3`) or bfloat16
// (`bf16x3`), or of three (`bf16x6`). Loops carry the sums of all but the first parts apart where registers allow. Returns true if there
// were any.
bool multiplyInParts(mlir::func::FuncOp kernel);

}  // namespace tandem::transform::nvidia
