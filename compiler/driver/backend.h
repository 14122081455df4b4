// A backend has the driver's steps for one vendor's GPUs: passes, lowering, assembler. The table in backend.cpp has a
// row for each.
#pragma once
#include "abi/kernel_image.h"
#include "base/source.h"
#include "compiler/codegen/nvidia/codegen.h"
#include "compiler/target/register_plan.h"
#include <llvm/IR/Module.h>
#include <memory>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Pass/PassManager.h>
#include <string>
#include <vector>

namespace tandem::compiler {

struct Backend {
  // Adds the passes from the emitted ops to those that `lower` takes. `blocks`: of a program's cluster; `layouts`:
  // false stops before these.
  void (*addPasses)(mlir::OpPassManager& passes, const target::TargetInfo& target, int blocks, bool layouts,
                    target::RegisterPlan plan);
  // Fills in the launcher's facts in `image`. Throws CompileError at the op that the target cannot do.
  std::unique_ptr<llvm::Module> (*lower)(mlir::func::FuncOp kernel, const std::vector<SourceFilePtr>& files,
                                         const target::TargetInfo& target, llvm::LLVMContext& context,
                                         abi::KernelImage& image, target::RegisterPlan plan);
  // Optimises the module and prints it as assembly.
  std::string (*toAssembly)(llvm::Module& module, const target::TargetInfo& target);
  // Adds the machine's code to an image that has assembly; what the assembler says of it, nothing if none is found.
  std::optional<codegen::Cubin> (*assemble)(abi::KernelImage& image, const target::TargetInfo& target);
};

const Backend& backendOf(const target::TargetInfo& target);

}  // namespace tandem::compiler
