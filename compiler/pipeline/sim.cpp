// The simulator runs tiles as they are: only what is known at compile time and what is computed twice go.
#include "compiler/pipeline/pipeline.h"
#include "compiler/transform/gpu/passes.h"

namespace tandem::pipeline {

void addSimPasses(mlir::OpPassManager& passes) { transform::gpu::addCleanUp(passes); }

}  // namespace tandem::pipeline
