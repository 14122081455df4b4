// MLIR contexts are dear to make and cannot be shared by compilations at once: each thread keeps one.
#pragma once
#include <memory>
#include <mlir/IR/MLIRContext.h>

namespace tandem::compiler {

// A loan of this thread's context. After a failure inside LLVM, `discard` makes sure that nobody meets the broken one
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
};

}  // namespace tandem::compiler
