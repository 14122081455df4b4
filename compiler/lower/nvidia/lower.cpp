// This is the room's entry: the table of lowerings for any GPU with NVIDIA's rows over it, walked over the kernel.
#include "compiler/lower/nvidia/lower.h"
#include "compiler/codegen/nvidia/codegen.h"
#include "compiler/lower/nvidia/emitter.h"
#include "compiler/lower/nvidia/nvshmem.h"

namespace tandem::lower::nvidia {
using namespace mlir;

static const Lowerings& lowerings() {
  static const Lowerings table = [] {
    Lowerings rows;
    registerAnyGpu(rows);
    for (auto add : {registerCluster, registerControl, registerCopies, registerDot, registerInlineAsm, registerMultimem,
                     registerRing, registerSimtBulk, registerTensormap, registerTma, registerWgmma})
      add(rows);
    return rows;
  }();
  return table;
}

std::unique_ptr<llvm::Module> lowerToLlvm(func::FuncOp kernel, const std::vector<SourceFilePtr>& files,
                                          const target::TargetInfo& target, llvm::LLVMContext& context,
                                          abi::KernelImage& image, target::RegisterPlan plan) {
  auto module = std::make_unique<llvm::Module>(kernel.getName().str(), context);
  module->addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  codegen::prepareModule(*module, target);
  auto at = filePosition(kernel.getLoc());
  Places places(*module, at ? at.getFilename().getValue() : "<unknown>", files);
  llvm::IRBuilder<> builder(context);
  NvidiaEmitter emitter(builder, plan);
  KernelContext cx(builder, *module, places, target, image, emitter, lowerings());
  emitter.attach(cx);
  Nvshmem nvshmem(cx);
  if (target.usesNvshmem()) cx.peers = &nvshmem;
  cx.lower(kernel);
  places.finish();
  return module;
}

}  // namespace tandem::lower::nvidia
