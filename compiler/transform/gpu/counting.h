// Kernels of which only that is left which they count.
#pragma once
#include <llvm/ADT/DenseSet.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tandem::transform::gpu {

// Returns true if arguments and the program's number decide the values, so that each run of the kernel gives the same.
bool areFixed(llvm::SmallVector<mlir::Value> values);
// Returns true if arguments and the program's number decide whether the op runs, and how often.
bool runsFixed(mlir::Operation* op);

using Signals = llvm::DenseSet<mlir::Operation*>;

// Adds to a word of this rank the operations of each product that runs fixed, before the loops around it where that is possible. These
// signals go to `signals`. `word` is defined before the products.
void countProducts(mlir::func::FuncOp kernel, mlir::Value word, Signals& signals);

// Erases all that has other effects than `signals` and loads; the clean-up behind it erases loads that nothing uses then.
void keepOnly(const Signals& signals, mlir::func::FuncOp kernel);

}  // namespace tandem::transform::gpu
