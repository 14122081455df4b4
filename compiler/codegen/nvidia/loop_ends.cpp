// LLVM's passes turn the targets of branches around; this file turns those of a loop's last branch back.
#include "compiler/codegen/nvidia/loop_ends.h"
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>

namespace tandem::codegen {
namespace {

void invert(llvm::BranchInst& branch) {
  llvm::Value* condition = branch.getCondition();
  auto* compare = llvm::dyn_cast<llvm::CmpInst>(condition);
  if (compare && compare->hasOneUse())
    compare->setPredicate(compare->getInversePredicate());
  else
    branch.setCondition(llvm::IRBuilder<>(&branch).CreateNot(condition));
  branch.swapSuccessors();
}

}  // namespace

void endLoopsByRepeating(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    llvm::DominatorTree dominators(function);
    llvm::LoopInfo loops(dominators);
    for (llvm::Loop* loop : loops.getLoopsInPreorder()) {
      llvm::BasicBlock* latch = loop->getLoopLatch();
      auto* branch = latch ? llvm::dyn_cast<llvm::BranchInst>(latch->getTerminator()) : nullptr;
      if (branch && branch->isConditional() && branch->getSuccessor(1) == loop->getHeader() &&
          !loop->contains(branch->getSuccessor(0)))
        invert(*branch);
    }
  }
}

}  // namespace tandem::codegen
