// The passes of each target, in order. Each list goes to a pass manager of `func.func`.
#pragma once
#include <mlir/Pass/PassManager.h>
#include <string>

namespace tandem::pipeline {

// Adds the passes from the emitted ops to those that compiler/lower/sim takes.
void addSimPasses(mlir::OpPassManager& passes);

struct NvidiaOptions {
  std::string target = "sm_90a";  // that TargetInfo knows
  int blocks = 1;                 // of a program's cluster
  bool layouts = true;            // false: only as far as products, copies and the order of programs are chosen
  bool producer = true;           // false: of pointers' tiles, threads copy what a producer could
};
// Adds the passes from the emitted ops to those that compiler/lower/nvidia takes.
void addNvidiaPasses(mlir::OpPassManager& passes, const NvidiaOptions& options);

// Makes both lists (`sim`, `nvidia`) and their passes known by name.
void registerPasses();

}  // namespace tandem::pipeline
