// The passes share these: folding and common subexpressions, and the lookup of their target.
#include "base/diagnostic.h"
#include "compiler/transform/gpu/passes.h"
#include <mlir/Pass/PassManager.h>
#include <mlir/Transforms/Passes.h>

namespace tandem::transform::gpu {

void addCleanUp(mlir::OpPassManager& passes) {
  passes.addPass(mlir::createCanonicalizerPass());
  passes.addPass(mlir::createCSEPass());
}

void KernelPass::cleanUp(bool changed) {
  if (!changed) return markAllAnalysesPreserved();
  mlir::OpPassManager passes(mlir::func::FuncOp::getOperationName());
  addCleanUp(passes);
  if (mlir::failed(runPipeline(passes, getOperation()))) signalPassFailure();
}

const target::TargetInfo* KernelPass::targetOf(llvm::StringRef name) try {
  return &target::TargetInfo::named(std::string_view(name));
} catch (const CompileError& error) {
  getOperation().emitError() << error.diagnostic.message;
  signalPassFailure();
  return nullptr;
}

}  // namespace tandem::transform::gpu
