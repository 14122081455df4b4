// This room turns a kernel with layouts into an LLVM module for an NVIDIA GPU, op by op.
#pragma once
#include "abi/kernel_image.h"
#include "base/source.h"
#include "compiler/target/register_plan.h"
#include <llvm/IR/Module.h>
#include <memory>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <vector>

namespace tandem::lower::nvidia {

// `kernel` has passed the passes of compiler/pipeline/nvidia.cpp: every op that defines a tile carries `tgpu.layout`.
// Fills in the launcher's facts (threads, shared memory, parameters, tensor maps) in `image`. Throws CompileError at
// the op that the target cannot do.
std::unique_ptr<llvm::Module> lowerToLlvm(mlir::func::FuncOp kernel, const std::vector<SourceFilePtr>& files,
                                          const target::TargetInfo& target, llvm::LLVMContext& context,
                                          abi::KernelImage& image, target::RegisterPlan plan);

}  // namespace tandem::lower::nvidia
