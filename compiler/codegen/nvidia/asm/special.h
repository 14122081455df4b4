// Special registers, clocks, sleeping, and ending a kernel.
#pragma once
#include "compiler/codegen/nvidia/asm/call.h"

namespace tandem::codegen::ptx {

enum class Special {
  ThreadX, ThreadY, ThreadZ,           // in the block
  BlockX, BlockY, BlockZ,              // in the grid
  BlockCountX, BlockCountY, BlockCountZ,
  Lane, Multiprocessor, MultiprocessorCount, GridId,
  ClusterX, ClusterCountX, ClusterRank, ClusterSize,
};
llvm::Value* special(llvm::IRBuilderBase& b, Special which);  // i32; fixed for a thread's life

llvm::Value* globalTimer(llvm::IRBuilderBase& b);  // i64, nanoseconds; resolution differs by device
llvm::Value* clock(llvm::IRBuilderBase& b);        // i64, cycles of this multiprocessor
void sleepNanoseconds(llvm::IRBuilderBase& b, llvm::Value* nanoseconds);
// Ends the whole launch with an error.
void trap(llvm::IRBuilderBase& b, llvm::Value* predicate = nullptr);
// Ends this thread.
void exitThread(llvm::IRBuilderBase& b, llvm::Value* predicate = nullptr);

}  // namespace tandem::codegen::ptx
