// These rules say what each op needs of the layouts of its operands and results.
#pragma once
#include "compiler/layout/linear_layout.h"
#include <mlir/IR/Operation.h>
#include <optional>

namespace tandem::transform::gpu {

// Returns true if operands and results of the same shape have the same layout: elementwise ops, memory accesses, scans.
bool isSameLayout(mlir::Operation* op);
// Returns true if computing the op again costs little: numbers made of positions, scalars and constants.
bool isCheap(mlir::Operation* op);

// For a tile of pairs, [..., 2], whose pairs lie in two threads: the layout in which that bit of the thread's index has
// changed places with one of the registers', so that a thread holds whole pairs and no pair is held twice.
layout::LinearLayout withPairInRegister(const layout::LinearLayout& layout);

// The layout of result `index` when operand `operand` has `layout`. Nothing: the op does not pass it on.
std::optional<layout::LinearLayout> forward(mlir::OpOperand& operand, const layout::LinearLayout& layout,
                                            unsigned index);
// The layout operand `operand` needs (or had best have) when result 0 has `layout`.
std::optional<layout::LinearLayout> backward(mlir::OpOperand& operand, const layout::LinearLayout& layout);

// Values that are one storage with operand `operand` of a loop, branch or their terminators: those it is tied to.
llvm::SmallVector<mlir::Value> tiedTo(mlir::OpOperand& operand);

}  // namespace tandem::transform::gpu
