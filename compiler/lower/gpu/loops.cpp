// This file makes basic blocks, and loops that no op of the kernel stands for.
#include "compiler/lower/gpu/kernel.h"

namespace tandem::lower::gpu {
using namespace mlir;

llvm::BasicBlock* KernelContext::newBlock(const char* name) {
  return llvm::BasicBlock::Create(context, name, function);
}

llvm::AllocaInst* KernelContext::temporary(llvm::Type* type) {
  llvm::BasicBlock& entry = function->getEntryBlock();
  return llvm::IRBuilder<>(&entry, entry.begin()).CreateAlloca(type);
}

// The counter is an unsigned integer.
void KernelContext::forEach(llvm::Value* begin, llvm::Value* end, llvm::Value* step,
                            llvm::function_ref<void(llvm::Value*)> body) {
  llvm::BasicBlock *before = b.GetInsertBlock(), *header = newBlock("each"), *inside = newBlock("item"),
                   *after = newBlock("all");
  b.CreateBr(header);
  b.SetInsertPoint(header);
  llvm::PHINode* at = b.CreatePHI(begin->getType(), 2);
  at->addIncoming(begin, before);
  b.CreateCondBr(b.CreateICmpULT(at, end), inside, after);
  b.SetInsertPoint(inside);
  body(at);
  at->addIncoming(b.CreateAdd(at, step), b.GetInsertBlock());
  b.CreateBr(header);
  b.SetInsertPoint(after);
}

void KernelContext::repeat(Regs& carried, int64_t rounds, llvm::function_ref<void(llvm::Value*, Regs&)> body) {
  if (rounds == 1) return body(b.getInt32(0), carried);
  llvm::BasicBlock *before = b.GetInsertBlock(), *inside = newBlock("round"), *after = newBlock("rounds");
  b.CreateBr(inside);
  b.SetInsertPoint(inside);
  llvm::PHINode* round = b.CreatePHI(b.getInt32Ty(), 2);
  round->addIncoming(b.getInt32(0), before);
  Regs entering;
  for (llvm::Value* v : carried) {
    llvm::PHINode* phi = b.CreatePHI(v->getType(), 2);
    phi->addIncoming(v, before);
    entering.push_back(phi);
  }
  carried = entering;
  body(round, carried);
  llvm::BasicBlock* end = b.GetInsertBlock();
  llvm::Value* next = b.CreateAdd(round, b.getInt32(1));
  round->addIncoming(next, end);
  for (auto [phi, v] : llvm::zip(entering, carried)) llvm::cast<llvm::PHINode>(phi)->addIncoming(v, end);
  b.CreateCondBr(b.CreateICmpULT(next, b.getInt32(rounds)), inside, after);
  b.SetInsertPoint(after);
}

llvm::Value* KernelContext::pollUntil(llvm::function_ref<llvm::Value*()> read,
                                      llvm::function_ref<llvm::Value*(llvm::Value*)> test) {
  llvm::BasicBlock *poll = newBlock("poll"), *after = newBlock("seen");
  b.CreateBr(poll);
  b.SetInsertPoint(poll);
  llvm::Value* seen = read();
  b.CreateCondBr(test(seen), after, poll);
  b.SetInsertPoint(after);
  return seen;
}

}  // namespace tandem::lower::gpu
