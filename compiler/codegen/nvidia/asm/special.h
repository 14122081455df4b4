// Special registers, clocks, sleeping, and ending a launch.
#pragma once
#include "compiler/codegen/nvidia/asm/call.h"

namespace tandem::codegen::ptx {

enum class Special {
  BlockX,
  BlockY,
  BlockZ,  // in the grid
  BlockCountX,
  BlockCountY,
  BlockCountZ,
  Lane,
  Multiprocessor,
  MultiprocessorCount,
  ClusterX,
  ClusterCountX,
  ClusterRank,
};
llvm::Value* special(llvm::IRBuilderBase& b, Special which);  // i32; fixed for a thread's life

llvm::Value* globalTimer(llvm::IRBuilderBase& b);  // i64, nanoseconds; resolution differs by device
llvm::Value* clock(llvm::IRBuilderBase& b);        // i64, cycles of this multiprocessor
void sleepNanoseconds(llvm::IRBuilderBase& b, llvm::Value* nanoseconds);
// Ends the whole launch with an error.
void trap(llvm::IRBuilderBase& b, llvm::Value* predicate = nullptr);

}  // namespace tandem::codegen::ptx
