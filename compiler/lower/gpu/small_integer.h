// Integers of few bits as 16-bit floats.
#pragma once
#include "compiler/lower/gpu/kernel.h"

namespace tandem::lower::gpu {

// Makes 16-bit floats of type `to` of integers of so few bits that a float whose neighbours are one apart has each in its last
// bits, two at once: it is the integer when the first such float is taken away. A bit more takes an operation more. Returns nothing
// where the integers, by their types and by what they are computed of, may have still more bits, or are not even in number.
Regs smallToNarrow(KernelContext& cx, Scalars integers, bool isSigned, llvm::Type* to);

}  // namespace tandem::lower::gpu
