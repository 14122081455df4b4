// The passes of passes.td: constructors, options, and registration for tools.
#pragma once
#include "compiler/dialect/simt/simt.h"
#include "compiler/dialect/tgpu/tgpu.h"
#include "compiler/target/target_info.h"
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Pass/Pass.h>

namespace tandem::transform::gpu {

// The passes have this in common: each transforms one kernel.
class KernelPass : public mlir::OperationPass<mlir::func::FuncOp> {
 protected:
  using OperationPass::OperationPass;
  // A pass that leaves unused ops behind where it has changed something calls this: it folds, and removes them and
  // common subexpressions.
  void cleanUp(bool changed);
  // The target of this name; null where there is none: then the pass has failed with an error that says so.
  const target::TargetInfo* targetOf(llvm::StringRef name);
};

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/transform/gpu/passes.h.inc"

// Folding and common subexpressions.
void addCleanUp(mlir::OpPassManager& passes);

}  // namespace tandem::transform::gpu
