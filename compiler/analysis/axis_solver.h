// The solver finds the fixpoint over structured control flow: a value that is not computed yet counts as the best there
// is, and the facts of loop-carried values only get weaker.
#pragma once
#include "compiler/analysis/axis_lattice.h"
#include <deque>
#include <mlir/Dialect/SCF/IR/SCF.h>

namespace tandem::analysis {

class AxisInfoSolver {
 public:
  AxisInfoSolver(mlir::func::FuncOp function, llvm::DenseMap<mlir::Value, AxisInfo>& known)
      : function_(function), known_(known) {}
  void run();

 private:
  void setArguments();
  // Finds the values that are 0 or more wherever they are computed: the author promises it, or divides by them.
  void findPromises();
  void visit(mlir::Operation* op);
  // An op is visited again when its operands, or the values that a region of it yields, have changed.
  void visitLater(mlir::Operation* op);
  void visitFor(mlir::scf::ForOp op);
  void visitWhile(mlir::scf::WhileOp op);
  void visitIf(mlir::scf::IfOp op);
  void visitPlain(mlir::Operation* op);
  AxisInfo induction(mlir::scf::ForOp op) const;
  bool allComputed(mlir::ValueRange values) const;
  void set(mlir::Value value, AxisInfo info);
  // Notes that `target` may be `source`, besides the values that it may already be.
  void flow(mlir::Value source, mlir::Value target);
  void setUnknown(mlir::ValueRange values);

  mlir::func::FuncOp function_;
  llvm::DenseMap<mlir::Value, AxisInfo>& known_;
  llvm::DenseSet<mlir::Value> promised_;
  std::deque<mlir::Operation*> left_;
  llvm::DenseSet<mlir::Operation*> isLeft_;
};

}  // namespace tandem::analysis
