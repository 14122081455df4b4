// Loops and branches: basic blocks with a phi for each register.
#include "compiler/dialect/tgpu/products.h"
#include "compiler/lower/nvidia/kernel_lowering.h"
#include <llvm/ADT/TypeSwitch.h>

namespace tandem::lower::nvidia {
using namespace mlir;

llvm::BasicBlock* KernelLowering::newBlock(const char* name) {
  return llvm::BasicBlock::Create(context_, name, function_);
}

llvm::SmallVector<Regs> KernelLowering::phis(ValueRange values, ArrayRef<Regs> incoming, llvm::BasicBlock* from) {
  llvm::SmallVector<Regs> out;
  for (const Regs& regs : incoming) {
    Regs& group = out.emplace_back();
    for (llvm::Value* r : regs) group.push_back(b_.CreatePHI(r->getType(), 2));
  }
  addIncoming(out, incoming, from);
  defineAll(values, out);
  return out;
}

void KernelLowering::addIncoming(ArrayRef<Regs> phis, ArrayRef<Regs> incoming, llvm::BasicBlock* from) {
  for (auto [group, regs] : llvm::zip(phis, incoming))
    for (auto [phi, r] : llvm::zip(group, regs)) llvm::cast<llvm::PHINode>(phi)->addIncoming(r, from);
}

bool KernelLowering::lowerControl(Operation* op) {
  return llvm::TypeSwitch<Operation*, bool>(op)
      .Case<scf::ForOp>([&](auto o) { return lowerFor(o), true; })
      .Case<scf::WhileOp>([&](auto o) { return lowerWhile(o), true; })
      .Case<scf::IfOp>([&](auto o) { return lowerIf(o), true; })
      .Case<scf::ExecuteRegionOp>([&](auto o) { return lowerExecuteRegion(o), true; })
      .Case<tgpu::WarpSpecializeOp>([&](auto o) { return lowerWarpSpecialize(o), true; })
      .Default([](Operation*) { return false; });
}

void KernelLowering::lowerFor(scf::ForOp op) {
  llvm::Value *start = useScalar(op.getLowerBound()), *end = useScalar(op.getUpperBound()),
              *step = useScalar(op.getStep());
  llvm::SmallVector<Regs> inits = useAll(op.getInitArgs());
  for (auto [carried, init] : llvm::zip(op.getRegionIterArgs(), inits))
    if (tgpu::beginsAtZero(carried))
      for (llvm::Value*& v : init) v = llvm::UndefValue::get(v->getType());
  llvm::BasicBlock *before = b_.GetInsertBlock(), *header = newBlock("for"), *body = newBlock("body"),
                   *exit = newBlock("done");
  b_.CreateBr(header);
  b_.SetInsertPoint(header);
  llvm::PHINode* iv = b_.CreatePHI(start->getType(), 2);
  iv->addIncoming(start, before);
  define(op.getInductionVar(), {iv});
  llvm::SmallVector<Regs> carried = phis(op.getRegionIterArgs(), inits, before);
  llvm::Value* more = op.getUnsignedCmp() ? b_.CreateICmpULT(iv, end) : b_.CreateICmpSLT(iv, end);
  b_.CreateCondBr(more, body, exit);
  b_.SetInsertPoint(body);
  traceTiles(op, iv, [&] { lowerBlock(*op.getBody()); });
  places_.set(b_, op.getLoc());
  iv->addIncoming(b_.CreateAdd(iv, step, "", false, !op.getUnsignedCmp()), b_.GetInsertBlock());
  addIncoming(carried, useAll(op.getYieldedValues()), b_.GetInsertBlock());
  b_.CreateBr(header);
  b_.SetInsertPoint(exit);
  defineAll(op.getResults(), carried);
  for (auto await : op.getBody()->getOps<tgpu::AwaitOp>()) liveRings_ -= ringOf(await.getRing()).isCopied;
}

void KernelLowering::lowerWhile(scf::WhileOp op) {
  llvm::SmallVector<Regs> inits = useAll(op.getInits());
  llvm::BasicBlock *before = b_.GetInsertBlock(), *header = newBlock("while"), *body = newBlock("body"),
                   *exit = newBlock("done");
  b_.CreateBr(header);
  b_.SetInsertPoint(header);
  llvm::SmallVector<Regs> carried = phis(op.getBeforeArguments(), inits, before);
  lowerBlock(*op.getBeforeBody());
  scf::ConditionOp condition = op.getConditionOp();
  llvm::SmallVector<Regs> passed = useAll(condition.getArgs());
  b_.CreateCondBr(useScalar(condition.getCondition()), body, exit);
  b_.SetInsertPoint(body);
  defineAll(op.getAfterArguments(), passed);
  traceTiles(op, nullptr, [&] { lowerBlock(*op.getAfterBody()); });
  addIncoming(carried, useAll(op.getYieldOp().getOperands()), b_.GetInsertBlock());
  b_.CreateBr(header);
  b_.SetInsertPoint(exit);
  defineAll(op.getResults(), passed);
}

void KernelLowering::lowerIf(scf::IfOp op) {
  llvm::BasicBlock *then = newBlock("then"), *otherwise = newBlock("else"), *after = newBlock("endif");
  b_.CreateCondBr(useScalar(op.getCondition()), then, otherwise);
  b_.SetInsertPoint(then);
  lowerBlock(*op.thenBlock());
  llvm::SmallVector<Regs> thenValues = useAll(op.thenYield().getOperands());
  llvm::BasicBlock* thenEnd = b_.GetInsertBlock();
  b_.CreateBr(after);
  b_.SetInsertPoint(otherwise);
  llvm::SmallVector<Regs> elseValues;
  if (!op.getElseRegion().empty()) {
    lowerBlock(*op.elseBlock());
    elseValues = useAll(op.elseYield().getOperands());
  }
  // Moves of a whole tile's constants stay on the way they are for.
  if (llvm::any_of(elseValues, [](const Regs& r) { return r.size() >= 32; })) ptx::Call(b_).emit("", ptx::Effect::Acts);
  llvm::BasicBlock* elseEnd = b_.GetInsertBlock();
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  addIncoming(phis(op.getResults(), thenValues, thenEnd), elseValues, elseEnd);
}

void KernelLowering::lowerExecuteRegion(scf::ExecuteRegionOp op) {
  Block& block = op.getRegion().front();
  lowerBlock(block);
  defineAll(op.getResults(), useAll(block.getTerminator()->getOperands()));
}

}  // namespace tandem::lower::nvidia
