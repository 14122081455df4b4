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
  // Code that goes away is not counted, split or recognised.
  addCleanUp(passes);
  passes.addPass(createNestLoops());       // Before loops are looked at.
  passes.addPass(createSpreadPrograms());  // Before programs are put into an order.
  passes.addPass(createGroupPrograms());   // Before what programs read decides their order.
  passes.addPass(createAwaitArrivals());   // While accesses are those of the author; later passes see waits and tokens.
  passes.addPass(createTellDepartures());
  passes.addPass(createDealPrograms());  // When each program knows what it waits for, and what it tells.
  passes.addPass(createDividePrograms());
  // Before passes whose time grows faster than the kernel.
  passes.addPass(createLimitSize({.blocks = options.blocks}));
  // Later passes know one block.
  if (options.blocks != 1) passes.addPass(createSplitProgram({target, options.blocks}));
  passes.addPass(createChooseWarps({target}));   // When a block has its part of the products.
  passes.addPass(createStoreInParts({target}));  // When the threads are known; before blocks are recognised.
  passes.addPass(createNarrowProducts());        // Before the loads of products are recognised.
  passes.addPass(createShareCounters());         // Before what is loaded is compared with what is stored.
  // Before products are selected: TMA loads blocks.
  passes.addPass(createRecogniseBlocks({target, options.producer}));
  passes.addPass(createWidenSteps({target}));
  passes.addPass(createCarryOffsets());  // For addresses that have not become blocks.
  passes.addPass(
      createLoadOnce());  // When what a loop moves addresses on by stands apart; before loads are copied ahead.
  passes.addPass(createDeferSums({target}));  // While `tile.dot` still says which loops multiply.
  // Before products have instructions with accumulators of their own.
  passes.addPass(createAccumulateProducts());
  passes.addPass(createTurnProducts({target}));  // When sums are products' accumulators.
  // While tiles are free of layouts, which operands decide.
  passes.addPass(createSelectProducts({target}));
  passes.addPass(createOverlapProducts());        // For products that are asynchronous now.
  passes.addPass(createKeepOperands({target}));   // Of the others; before rings take the shared memory.
  passes.addPass(createPipelineLoads({target}));  // For loads that no ring has taken.
  passes.addPass(createParkOperands({target}));   // Nor any ring.
  // When all products and the events of their rings are there.
  passes.addPass(createScheduleProducts());
  passes.addPass(createPrepareOperands({target}));  // When products and waits have their places.
  passes.addPass(createLoadBeforeBranch());         // Of the loads that are not copied ahead of loops.
  passes.addPass(createLongestFirst());             // No later pass makes a `tile.program_id`.
  if (!options.layouts) return;
  passes.addPass(createJoinNeighbours());  // Of the loads that no pass copies ahead.
  passes.addPass(createComputeAnew());   // When loops have the loads that they will have; before offsets are in order.
  passes.addPass(createOrderOffsets());  // Of the addresses that are left.
  passes.addPass(createAssignLayouts({target}));
  passes.addPass(createDeferReductions());  // By layout: what a thread has of a tile it folds alone.
  passes.addPass(createLayOutScans());      // By layout, too: what its neighbours are.
  // A thread's own accesses, by layout, need none between them.
  passes.addPass(createInsertBarriers());
}

}  // namespace tandem::pipeline
