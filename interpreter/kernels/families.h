// The kernel lookups of each kind of element, which the public lookups choose from.
#pragma once
#include "interpreter/kernels/kernels.h"
#include "interpreter/kernels/narrow.h"

namespace tandem::interpreter {

BinaryKernel integerBinary(BinaryOp op, Elem elem);
UnaryKernel integerUnary(UnaryOp op, Elem elem);
// The upper half of the product.
BinaryKernel integerMulHigh(bool isSigned, Elem elem);
BinaryKernel floatBinary(BinaryOp op, Elem elem);
UnaryKernel floatUnary(UnaryOp op, Elem elem);
UnaryKernel floatToFloat(Rounding rounding, Elem from, Elem to);

}  // namespace tandem::interpreter
