// Warp roles: the program's warps consume; of an added warpgroup the first thread produces, or all do where they copy by
// cp.async, and one of the second warp signals.
#pragma once
#include "compiler/lower/nvidia/kernel.h"
#include "compiler/target/register_plan.h"

namespace tandem::lower::nvidia {

// The number of blocks that share a multiprocessor. Where it is not firm, the assembler may find registers for more.
struct BlockShare {
  int blocks = 1;
  bool isFirm = false;
};

BlockShare blocksThatFit(KernelContext& cx, mlir::func::FuncOp kernel, target::RegisterPlan plan);
// Returns true if all threads of the added warpgroup produce.
bool producesByGroup(tgpu::WarpSpecializeOp roles);
void lowerWarpSpecialize(KernelContext& cx, tgpu::WarpSpecializeOp op);
// Warpgroups take turns in pairs.
bool takeTurns(KernelContext& cx);
void awaitTurn(KernelContext& cx);
void giveTurn(KernelContext& cx);
// The threads of each group of four warps meet.
void groupBarrier(KernelContext& cx);

}  // namespace tandem::lower::nvidia
