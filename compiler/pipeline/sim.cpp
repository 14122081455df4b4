// The simulator runs tiles as they are: these passes remove only values known at compile time and those computed twice.
#include "compiler/pipeline/pipeline.h"
#include "compiler/transform/gpu/passes.h"

namespace tandem::pipeline {

void addSimPasses(mlir::OpPassManager& passes) { transform::gpu::addCleanUp(passes); }

}  // namespace tandem::pipeline
