// A program of several blocks: how the blocks meet. They are one cluster along the grid's first axis.
#pragma once
#include "compiler/lower/nvidia/kernel.h"

namespace tandem::lower::nvidia {

void allocateMeeting(KernelContext& cx, mlir::func::FuncOp kernel);
bool reachesOthers(KernelContext& cx);
// Each warp arrives once at the barrier of this kind in each block. `publishes`: a thread that waits there sees the
// warp's writes.
void arriveEverywhere(KernelContext& cx, llvm::Value* barrier, bool publishes);
// All blocks, before the first reaches into another's shared memory and after the last has.
void clusterBarrier(KernelContext& cx);
// Meets all threads that compute the program, in all its blocks. Each of them sees afterwards what any did before.
void meetBlocks(KernelContext& cx);

}  // namespace tandem::lower::nvidia
