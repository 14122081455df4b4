// Each op of arith, math and tile in this table is one Unary, Binary or Convert instruction.
#pragma once
#include "interpreter/op.h"
#include <mlir/IR/Operation.h>
#include <optional>

namespace tandem::lower {

std::optional<interpreter::UnaryOp> unaryOpOf(mlir::Operation* op);
std::optional<interpreter::BinaryOp> binaryOpOf(mlir::Operation* op);
std::optional<interpreter::ConvertOp> convertOpOf(mlir::Operation* op);

}  // namespace tandem::lower
