// Adaptors, which hold lists of passes for a kind of op, are no passes of a list and have no argument.
#include "compiler/pipeline/watch.h"
#include <mlir/IR/Diagnostics.h>
#include <mlir/IR/Verifier.h>
#include <mlir/Pass/Pass.h>

namespace tandem::pipeline {

void Watch::runBeforePass(mlir::Pass* pass, mlir::Operation*) {
  if (pass->getArgument().empty()) return;
  if (begins_.empty()) record_.running = pass->getArgument().str();
  begins_.push_back(Clock::now());
}

void Watch::runAfterPass(mlir::Pass* pass, mlir::Operation* op) {
  if (pass->getArgument().empty()) return;
  std::chrono::duration<double, std::milli> took = Clock::now() - begins_.back();
  begins_.pop_back();
  if (begins_.empty() && observer_) observer_(pass->getArgument(), op, took.count());
}

void Watch::runAfterPassFailed(mlir::Pass* pass, mlir::Operation* op) {
  if (pass->getArgument().empty()) return;
  begins_.pop_back();
  mlir::ScopedDiagnosticHandler silent(op->getContext(), [](mlir::Diagnostic&) { return mlir::success(); });
  record_.leftBrokenIr |= mlir::failed(mlir::verify(op));
}

}  // namespace tandem::pipeline
