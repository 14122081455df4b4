// Finds shuffles in both their forms, LLVM's intrinsics and assembly.
#include "compiler/codegen/nvidia/shuffles.h"
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>

namespace tandem::codegen {
namespace {

constexpr int kShufflesOfBlock = 128;

bool isShuffleOfWarp(const llvm::Instruction& instruction) {
  auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  if (!call || !call->getType()->isIntegerTy(32)) return false;
  if (auto* assembly = llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand()))
    return assembly->getAsmString().starts_with("shfl.sync.") && assembly->getAsmString().ends_with(", -1;");
  auto* mask = call->arg_empty() ? nullptr : llvm::dyn_cast<llvm::ConstantInt>(call->getArgOperand(0));
  return call->getCalledFunction() && call->getCalledFunction()->getName().starts_with("llvm.nvvm.shfl.sync.") &&
         mask && mask->isMinusOne();
}

// The barrier passes the result through, which keeps it between the shuffle and the use of its result.
void meetAfter(llvm::Instruction& shuffle) {
  llvm::IRBuilder<> b(shuffle.getNextNode());
  auto* type = llvm::FunctionType::get(shuffle.getType(), {shuffle.getType()}, false);
  auto* barrier = llvm::InlineAsm::get(type, "bar.warp.sync -1;\n\tmov.b32 $0, $1;", "=r,r", true);
  llvm::CallInst* met = b.CreateCall(barrier, {&shuffle});
  met->setConvergent();
  met->setDoesNotThrow();
  shuffle.replaceUsesWithIf(met, [&](llvm::Use& use) { return use.getUser() != met; });
}

void divide(llvm::BasicBlock& block) {
  int count = 0;
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(block))
    if (isShuffleOfWarp(instruction) && ++count % kShufflesOfBlock == 0) meetAfter(instruction);
}

}  // namespace

void divideShuffles(llvm::Module& module) {
  for (llvm::Function& function : module)
    for (llvm::BasicBlock& block : function) divide(block);
}

}  // namespace tandem::codegen
