// The copies by TMA that fill the slots of rings.
#pragma once
#include "compiler/analysis/axis_info.h"
#include "compiler/transform/nvidia/ring_plan.h"
#include <mlir/IR/IRMapping.h>

namespace tandem::transform::nvidia {

// Returns true if all `blocks` blocks of the cluster load the same tile, so that each can fetch a part for all.
bool isMulticast(tile::BlockLoadOp load, int64_t blocks);

// Makes a buffer in shared memory of `slots` tiles of this type, swizzled as TMA and wgmma want them.
mlir::Value makeBuffer(mlir::OpBuilder& builder, mlir::Location loc, mlir::RankedTensorType type, int64_t slots);

// Copies `load` into the slot of `plan`'s ring that is acquired, one of its loads, whose operands are mapped. `axes`: of the kernel
// before any of it was copied.
void copyIntoSlot(const RingPlan& plan, tile::BlockLoadOp load, int64_t blocks, const analysis::AxisInfoAnalysis& axes,
                  mlir::OpBuilder& builder, mlir::IRMapping& mapping);

// The same by the producer's threads, of one of the loads that the plan gathers.
void gatherIntoSlot(const RingPlan& plan, const CopiedLoad& copied, mlir::OpBuilder& builder, mlir::IRMapping& mapping);

}  // namespace tandem::transform::nvidia
