// Clusters of blocks, and registers handed between warp groups (sm_90).
#pragma once
#include "compiler/codegen/nvidia/asm/call.h"

namespace tandem::codegen::ptx {

void clusterArrive(llvm::IRBuilderBase& b, bool relaxed = false);
void clusterWait(llvm::IRBuilderBase& b);
// The address (i32) in block `rank`'s (i32) shared memory that corresponds to `shared` in this block's.
llvm::Value* mapShared(llvm::IRBuilderBase& b, llvm::Value* shared, llvm::Value* rank);

// A warp group's registers a thread, a multiple of 8 from 24 to 240; executed by all its warps.
void increaseRegisters(llvm::IRBuilderBase& b, int count);
void decreaseRegisters(llvm::IRBuilderBase& b, int count);

}  // namespace tandem::codegen::ptx
