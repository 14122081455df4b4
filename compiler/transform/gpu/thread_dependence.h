// Values that differ from thread to thread.
#pragma once
#include <llvm/ADT/DenseSet.h>
#include <mlir/IR/Operation.h>

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
// Returns true if a branch or a loop around `op` goes different ways in different threads.
bool isDivergent(mlir::Operation* op);

}  // namespace tandem::transform::gpu
