// Registers the NVPTX back end once and makes target machines from it.
#include "compiler/codegen/nvidia/target_machine.h"
#include "compiler/codegen/nvidia/guard.h"
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Target/TargetOptions.h>
#include <llvm/TargetParser/Triple.h>
#include <mutex>

extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace tandem::codegen {
namespace {

void registerBackEnd() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    // Addresses of shared memory have 32 bits: half the registers, and ptxas adds constants to them in the accesses.
    static_cast<llvm::cl::opt<bool>*>(llvm::cl::getRegisteredOptions().lookup("nvptx-short-ptr"))->setValue(true);
  });
}

}  // namespace

std::unique_ptr<llvm::TargetMachine> makeTargetMachine(const target::TargetInfo& target, int optLevel,
                                                       bool fuseMulAdd) {
  registerBackEnd();
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string error;
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!found) throw codegenError("internal", "LLVM has no NVPTX back end: " + error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = fuseMulAdd ? llvm::FPOpFusion::Fast : llvm::FPOpFusion::Strict;
  auto level = llvm::CodeGenOpt::getLevel(optLevel).value_or(llvm::CodeGenOptLevel::Aggressive);
  return std::unique_ptr<llvm::TargetMachine>(found->createTargetMachine(
      triple, target.architecture(), target.features(), options, std::nullopt, std::nullopt, level));
}

}  // namespace tandem::codegen
