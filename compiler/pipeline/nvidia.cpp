// From a kernel's tiles to a thread block's program with layouts and barriers. What each pass does is in transform/gpu/passes.td.
#include "compiler/pipeline/pipeline.h"
#include "compiler/transform/gpu/passes.h"

namespace tandem::pipeline {
using namespace transform::gpu;

void addNvidiaPasses(mlir::OpPassManager& passes, const NvidiaOptions& options) {
  const std::string& target = options.target;
  addCleanUp(passes);                                               // What no unit has to do is not counted, split or recognised.
  passes.addPass(createLimitSize());                                // Before passes whose time grows faster than the kernel.
  if (options.blocks != 1) passes.addPass(createSplitProgram({target, options.blocks}));  // Later passes know one block.
  passes.addPass(createRecogniseBlocks({target}));                  // Before products are selected: TMA loads blocks.
  passes.addPass(createCarryOffsets());                             // Of the addresses that have not become blocks.
  passes.addPass(createDeferSums({target}));                        // While `tile.dot` still says which loops multiply.
  passes.addPass(createSelectProducts({target}));                   // While tiles are free of layouts, which operands decide.
  passes.addPass(createOverlapProducts());                          // Of the products that are asynchronous now.
  passes.addPass(createPipelineLoads({target}));                    // Of what no ring has taken.
  passes.addPass(createLongestFirst());                             // No later pass makes a `tile.program_id`.
  if (!options.layouts) return;
  passes.addPass(createAssignLayouts({target}));
  passes.addPass(createInsertBarriers());                           // A thread's own accesses, by layout, need none between them.
}

}  // namespace tandem::pipeline
