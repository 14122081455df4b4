// This file makes loops that no op of the kernel stands for, and finds out if a kernel's threads go ways of their own.
#include "compiler/lower/nvidia/kernel_lowering.h"

namespace tandem::lower::nvidia {
using namespace mlir;

// The counter is an unsigned integer.
void KernelLowering::forEach(llvm::Value* begin, llvm::Value* end, llvm::Value* step, llvm::function_ref<void(llvm::Value*)> body) {
  llvm::BasicBlock *before = b_.GetInsertBlock(), *header = newBlock("each"), *inside = newBlock("item"), *after = newBlock("all");
  b_.CreateBr(header);
  b_.SetInsertPoint(header);
  llvm::PHINode* at = b_.CreatePHI(begin->getType(), 2);
  at->addIncoming(begin, before);
  b_.CreateCondBr(b_.CreateICmpULT(at, end), inside, after);
  b_.SetInsertPoint(inside);
  body(at);
  at->addIncoming(b_.CreateAdd(at, step), b_.GetInsertBlock());
  b_.CreateBr(header);
  b_.SetInsertPoint(after);
}

void KernelLowering::repeat(Regs& carried, int64_t rounds, llvm::function_ref<void(llvm::Value*, Regs&)> body) {
  if (rounds == 1) return body(b_.getInt32(0), carried);
  llvm::BasicBlock *before = b_.GetInsertBlock(), *inside = newBlock("round"), *after = newBlock("rounds");
  b_.CreateBr(inside);
  b_.SetInsertPoint(inside);
  llvm::PHINode* round = b_.CreatePHI(b_.getInt32Ty(), 2);
  round->addIncoming(b_.getInt32(0), before);
  Regs entering;
  for (llvm::Value* v : carried) {
    llvm::PHINode* phi = b_.CreatePHI(v->getType(), 2);
    phi->addIncoming(v, before);
    entering.push_back(phi);
  }
  carried = entering;
  body(round, carried);
  llvm::BasicBlock* end = b_.GetInsertBlock();
  llvm::Value* next = b_.CreateAdd(round, b_.getInt32(1));
  round->addIncoming(next, end);
  for (auto [phi, v] : llvm::zip(entering, carried)) llvm::cast<llvm::PHINode>(phi)->addIncoming(v, end);
  b_.CreateCondBr(b_.CreateICmpULT(next, b_.getInt32(rounds)), inside, after);
  b_.SetInsertPoint(after);
}

llvm::Value* KernelLowering::pollUntil(llvm::function_ref<llvm::Value*()> read, llvm::function_ref<llvm::Value*(llvm::Value*)> test) {
  llvm::BasicBlock *poll = newBlock("poll"), *after = newBlock("seen");
  b_.CreateBr(poll);
  b_.SetInsertPoint(poll);
  llvm::Value* seen = read();
  b_.CreateCondBr(test(seen), after, poll);
  b_.SetInsertPoint(after);
  return seen;
}

bool KernelLowering::isPerThread(Operation* op) {
  return op->getParentOfType<func::FuncOp>()
      ->walk([](Operation* inner) {
        bool differs = isa<simt::TidOp, simt::ElectOp, simt::ShuffleOp, simt::BallotOp, simt::AtomicRmwOp, simt::AtomicCasOp>(inner);
        return differs ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

}  // namespace tandem::lower::nvidia
