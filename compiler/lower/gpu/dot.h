// Products by multiply-adds of the threads.
#pragma once
#include "compiler/lower/gpu/kernel.h"

namespace tandem::lower::gpu {

// An operand of such a product as it lies in shared memory: in the type that is summed, where `offsets` says.
struct SharedOperand {
  llvm::Value* base;
  LinearLayout offsets;
};
// Returns where the left or right operand lies; nothing if the product has to store it first.
using PlaceOfOperand = llvm::function_ref<std::optional<SharedOperand>(bool isLhs)>;

void lowerMultiplyAdd(KernelContext& cx, tile::DotOp op, PlaceOfOperand placeOf);

}  // namespace tandem::lower::gpu
