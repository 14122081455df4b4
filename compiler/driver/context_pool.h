// MLIR contexts are dear to make and cannot be shared by compilations at once: those that nobody uses are kept for the next
// one, whichever thread it runs on. The ranks of a simulated run are threads of that run alone.
#pragma once
#include <memory>
#include <mlir/IR/MLIRContext.h>

namespace tandem::compiler {

// A loan of a context. After a failure inside LLVM, `discard` makes sure that nobody meets the broken one
// again.
class BorrowedContext {
 public:
  BorrowedContext();
  ~BorrowedContext();
  BorrowedContext(const BorrowedContext&) = delete;
  mlir::MLIRContext& operator*() { return *context_; }
  void discard();

 private:
  std::unique_ptr<mlir::MLIRContext> context_;
  int uses_ = 0;
};

}  // namespace tandem::compiler
