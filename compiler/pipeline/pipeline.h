// The passes of each target, in order. Each list goes to a pass manager of `func.func`.
#pragma once
#include <mlir/Pass/PassManager.h>
#include <string>
#include <vector>

namespace tandem::pipeline {

// Adds the passes from the emitted ops to those that compiler/lower/sim takes.
void addSimPasses(mlir::OpPassManager& passes);

struct Launch {
  int64_t ranks = 1;
  std::vector<int64_t> grid, numbers;  // sizes, and the kernel's arguments in their order
};
// Adds what is checked of a launch before it runs, of the ops as they were emitted.
void addLaunchChecks(mlir::OpPassManager& passes, const Launch& launch);

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
