// These passes turn a kernel's tiles into a thread block's program with layouts and barriers. transform/gpu/passes.td
// and transform/nvidia/passes.td describe each pass.
#include "compiler/pipeline/pipeline.h"
#include "compiler/transform/gpu/passes.h"
#include "compiler/transform/nvidia/passes.h"

namespace tandem::pipeline {
using namespace transform::gpu;
using namespace transform::nvidia;

void addNvidiaPasses(mlir::OpPassManager& passes, const NvidiaOptions& options) {
  const std::string& target = options.target;
  addCleanUp(passes);                                               // Code that goes away is not counted, split or recognised.
  passes.addPass(createLimitSize());                                // Before passes whose time grows faster than the kernel.
  if (options.blocks != 1) passes.addPass(createSplitProgram({target, options.blocks}));  // Later passes know one block.
  passes.addPass(createRecogniseBlocks({target}));                  // Before products are selected: TMA loads blocks.
  passes.addPass(createCarryOffsets());                             // For addresses that have not become blocks.
  passes.addPass(createDeferSums({target}));                        // While `tile.dot` still says which loops multiply.
  passes.addPass(createAccumulateProducts());                       // Before products have instructions with accumulators of their own.
  passes.addPass(createTurnProducts({target}));                     // When sums are products' accumulators.
  passes.addPass(createSelectProducts({target}));                   // While tiles are free of layouts, which operands decide.
  passes.addPass(createOverlapProducts());                          // For products that are asynchronous now.
  passes.addPass(createPipelineLoads({target}));                    // For loads that no ring has taken.
  passes.addPass(createScheduleProducts());                         // When all products and the events of their rings are there.
  passes.addPass(createLongestFirst());                             // No later pass makes a `tile.program_id`.
  if (!options.layouts) return;
  passes.addPass(createAssignLayouts({target}));
  passes.addPass(createInsertBarriers());                           // A thread's own accesses, by layout, need none between them.
}

}  // namespace tandem::pipeline
