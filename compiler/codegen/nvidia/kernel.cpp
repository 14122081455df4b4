// Function attributes as LLVM's NVPTX back end reads them.
#include "compiler/codegen/nvidia/kernel.h"
#include <llvm/IR/Module.h>

namespace tandem::codegen {
namespace {
constexpr unsigned kSharedSpace = 3;
constexpr const char* kSharedName = "tandem_shared";
}  // namespace

void markKernel(llvm::Function& function, const LaunchBounds& bounds) {
  function.setCallingConv(llvm::CallingConv::PTX_Kernel);
  function.addFnAttr(llvm::Attribute::NoUnwind);
  function.addFnAttr(llvm::Attribute::Convergent);
  function.addFnAttr("nvvm.reqntid", std::to_string(bounds.threads) + ",1,1");
  const auto& c = bounds.cluster;
  if (c[0] * c[1] * c[2] > 1)
    function.addFnAttr("nvvm.cluster_dim",
                       std::to_string(c[0]) + "," + std::to_string(c[1]) + "," + std::to_string(c[2]));
  if (bounds.maxRegisters > 0) function.addFnAttr("nvvm.maxnreg", std::to_string(bounds.maxRegisters));
  if (bounds.minBlocks > 0) function.addFnAttr("nvvm.minctasm", std::to_string(bounds.minBlocks));
}

void markTensorMap(llvm::Function& function, unsigned index) {
  llvm::LLVMContext& context = function.getContext();
  llvm::Type* bytes = llvm::ArrayType::get(llvm::Type::getInt8Ty(context), 128);
  function.addParamAttr(index, llvm::Attribute::getWithByValType(context, bytes));
  function.addParamAttr(index, llvm::Attribute::getWithAlignment(context, llvm::Align(64)));
  function.addParamAttr(index, llvm::Attribute::get(context, "nvvm.grid_constant"));
}

llvm::GlobalVariable* dynamicShared(llvm::Module& module) {
  if (auto* existing = module.getGlobalVariable(kSharedName)) return existing;
  auto* type = llvm::ArrayType::get(llvm::Type::getInt8Ty(module.getContext()), 0);
  auto* shared = new llvm::GlobalVariable(module, type, false, llvm::GlobalValue::ExternalLinkage, nullptr, kSharedName,
                                          nullptr, llvm::GlobalValue::NotThreadLocal, kSharedSpace);
  shared->setAlignment(llvm::Align(1024));
  return shared;
}

}  // namespace tandem::codegen
