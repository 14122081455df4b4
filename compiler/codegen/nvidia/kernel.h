// These properties make an LLVM function a CUDA kernel: calling convention, launch bounds, tensor map parameters,
// shared memory.
#pragma once
#include <array>
#include <llvm/IR/Function.h>
#include <llvm/IR/GlobalVariable.h>

namespace tandem::codegen {

struct LaunchBounds {
  int threads = 128;                    // of a block, exactly
  std::array<int, 3> cluster{1, 1, 1};  // blocks of a cluster; all 1: no cluster
  int maxRegisters = 0;                 // a thread's; 0: the assembler decides
  int minBlocks = 0;                    // blocks that a multiprocessor shall hold at once; 0: the assembler decides
};

void markKernel(llvm::Function& function, const LaunchBounds& bounds);

// Makes pointer parameter `index` a tensor map passed by value: 128 bytes in the parameter space, aligned to 64.
void markTensorMap(llvm::Function& function, unsigned index);

// The block's dynamic shared memory, aligned to 1024 bytes, as a 128-byte swizzle needs. A module has one.
llvm::GlobalVariable* dynamicShared(llvm::Module& module);

}  // namespace tandem::codegen
