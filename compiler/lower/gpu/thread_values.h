// This analysis finds the scalars that differ from thread to thread, and the code that only some threads run. It is a
// fixpoint over structured control flow.
#pragma once
#include <llvm/ADT/DenseSet.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tandem::lower::gpu {

class ThreadValues {
 public:
  explicit ThreadValues(mlir::func::FuncOp kernel);

  bool differs(mlir::Value value) const { return differing_.contains(value); }
  bool anyDiffers(mlir::ValueRange values) const;
  // Returns true if `op` lies under a condition that differs: then not all threads come to it, or not equally often.
  bool isDivergent(mlir::Operation* op) const;
  // Returns true if each thread executes for itself what `op` otherwise does once for the program.
  bool actsEach(mlir::Operation* op) const { return anyDiffers(op->getOperands()) || isDivergent(op); }

 private:
  void visit(mlir::Operation* op);
  void markAll(mlir::ValueRange values);
  // Marks the i-th of `to` when the i-th of `from` is marked.
  void markWhere(mlir::ValueRange from, mlir::ValueRange to);

  llvm::DenseSet<mlir::Value> differing_;
  bool changed_ = false;
};

}  // namespace tandem::lower::gpu
