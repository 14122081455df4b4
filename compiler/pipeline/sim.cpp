// The simulator runs tiles as they are: these passes put waits where the language leaves them to the compiler, and remove values known at
// compile time and those computed twice.
#include "compiler/pipeline/pipeline.h"
#include "compiler/transform/gpu/passes.h"

namespace tandem::pipeline {

void addSimPasses(mlir::OpPassManager& passes) {
  transform::gpu::addCleanUp(passes);
  passes.addPass(transform::gpu::createSpreadPrograms());
  passes.addPass(transform::gpu::createAwaitArrivals());
  passes.addPass(transform::gpu::createTellDepartures());
  passes.addPass(transform::gpu::createDealPrograms());
  passes.addPass(transform::gpu::createDividePrograms());
}

void addLaunchChecks(mlir::OpPassManager& passes, const Launch& launch) {
  passes.addPass(transform::gpu::createCheckSignals(
      {launch.ranks, llvm::to_vector(launch.grid), llvm::to_vector(launch.numbers)}));
}

}  // namespace tandem::pipeline
