// This analysis finds the values that differ from thread to thread, as a fixpoint over structured control flow. It
// knows nothing of registers.
#pragma once
#include "compiler/lower/sim/locations.h"
#include <llvm/ADT/DenseSet.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Dialect/SCF/IR/SCF.h>

namespace tandem::lower {

class Divergence {
 public:
  // Throws CompileError where a tile or a shared-memory buffer would differ by thread.
  Divergence(mlir::func::FuncOp kernel, Locations& locations);

  bool isLanes(mlir::Value value) const { return lanes_.contains(value); }
  bool anyLanes(mlir::ValueRange values) const;
  // Returns true if `op` lies under a condition that differs by thread: each thread then executes it for itself.
  bool isDivergent(mlir::Operation* op) const;

 private:
  void visit(mlir::Operation* op);
  void visitIf(mlir::scf::IfOp op);
  void visitFor(mlir::scf::ForOp op);
  void visitWhile(mlir::scf::WhileOp op);
  void visitExecuteRegion(mlir::scf::ExecuteRegionOp op);
  void visitCombine(mlir::Operation* op);
  void visitPlain(mlir::Operation* op);
  bool differsByThread(mlir::Operation* op) const;
  void mark(mlir::Value value, mlir::Operation* at);
  void markAll(mlir::ValueRange values, mlir::Operation* at);
  // Marks the i-th of `to` when the i-th of `from` is marked.
  void markWhere(mlir::ValueRange from, mlir::ValueRange to, mlir::Operation* at);

  Locations& locations_;
  llvm::DenseSet<mlir::Value> lanes_;
  bool changed_ = false;
};

}  // namespace tandem::lower
