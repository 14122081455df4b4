// Warp roles: the program's warps consume; of an added warpgroup the first thread produces, or all do where they copy by
// cp.async, and one of the second warp signals.
#pragma once
#include "compiler/lower/nvidia/kernel.h"
#include "compiler/target/register_plan.h"
#include <optional>

namespace tandem::lower::nvidia {

std::optional<int> blocksThatFit(KernelContext& cx, mlir::func::FuncOp kernel, target::RegisterPlan plan);
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
