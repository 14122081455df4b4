// Values that differ from thread to thread.
#pragma once
#include <llvm/ADT/DenseSet.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tandem::transform::gpu {

// Answers about one kernel, each value of which is looked at once. It holds as long as no value that was asked about
// changes.
class ThreadDependence {
 public:
  bool anyOf(mlir::ValueRange values);

 private:
  llvm::DenseSet<mlir::Value> dependent_, independent_;
};

bool dependOnThread(mlir::ValueRange values);
// Returns true if threads may do different things in this kernel.
bool isPerThread(mlir::func::FuncOp kernel);
// Returns true if a branch or a loop around `op` goes different ways in different threads.
bool isDivergent(mlir::Operation* op);

}  // namespace tandem::transform::gpu
