// Loops and branches: basic blocks with a phi for each register.
#include "compiler/lower/gpu/control.h"
#include "compiler/lower/gpu/spin.h"
#include "compiler/lower/gpu/trace.h"

namespace tandem::lower::gpu {
using namespace mlir;

static void addIncoming(KernelContext& cx, ArrayRef<Regs> phis, ArrayRef<Regs> incoming, llvm::BasicBlock* from) {
  for (auto [group, regs] : llvm::zip(phis, incoming))
    for (auto [phi, r] : llvm::zip(group, regs)) llvm::cast<llvm::PHINode>(phi)->addIncoming(r, from);
}

static llvm::SmallVector<Regs> phis(KernelContext& cx, ValueRange values, ArrayRef<Regs> incoming,
                                    llvm::BasicBlock* from) {
  llvm::SmallVector<Regs> out;
  for (const Regs& regs : incoming) {
    Regs& group = out.emplace_back();
    for (llvm::Value* r : regs) group.push_back(cx.b.CreatePHI(r->getType(), 2));
  }
  addIncoming(cx, out, incoming, from);
  cx.defineAll(values, out);
  return out;
}

void lowerFor(KernelContext& cx, scf::ForOp op, llvm::function_ref<bool(mlir::Value)> isUnread) {
  llvm::Value *start = cx.useScalar(op.getLowerBound()), *end = cx.useScalar(op.getUpperBound()),
              *step = cx.useScalar(op.getStep());
  llvm::SmallVector<Regs> inits = cx.useAll(op.getInitArgs());
  for (auto [carried, init] : llvm::zip(op.getRegionIterArgs(), inits))
    if (isUnread && isUnread(carried))
      for (llvm::Value*& v : init) v = llvm::UndefValue::get(v->getType());
  llvm::BasicBlock *before = cx.b.GetInsertBlock(), *header = cx.newBlock("for"), *body = cx.newBlock("body"),
                   *exit = cx.newBlock("done");
  cx.b.CreateBr(header);
  cx.b.SetInsertPoint(header);
  llvm::PHINode* iv = cx.b.CreatePHI(start->getType(), 2);
  iv->addIncoming(start, before);
  cx.define(op.getInductionVar(), {iv});
  llvm::SmallVector<Regs> carried = phis(cx, op.getRegionIterArgs(), inits, before);
  llvm::Value* more = op.getUnsignedCmp() ? cx.b.CreateICmpULT(iv, end) : cx.b.CreateICmpSLT(iv, end);
  cx.b.CreateCondBr(more, body, exit);
  cx.b.SetInsertPoint(body);
  traceTiles(cx, op, iv, [&] { cx.lowerBlock(*op.getBody()); });
  cx.places.set(cx.b, op.getLoc());
  iv->addIncoming(cx.b.CreateAdd(iv, step, "", false, !op.getUnsignedCmp()), cx.b.GetInsertBlock());
  addIncoming(cx, carried, cx.useAll(op.getYieldedValues()), cx.b.GetInsertBlock());
  cx.b.CreateBr(header);
  cx.b.SetInsertPoint(exit);
  cx.defineAll(op.getResults(), carried);
}

static void lowerWhile(KernelContext& cx, scf::WhileOp op) {
  llvm::SmallVector<Regs> inits = cx.useAll(op.getInits());
  llvm::BasicBlock *before = cx.b.GetInsertBlock(), *header = cx.newBlock("while"), *body = cx.newBlock("body"),
                   *exit = cx.newBlock("done");
  cx.b.CreateBr(header);
  cx.b.SetInsertPoint(header);
  llvm::SmallVector<Regs> carried = phis(cx, op.getBeforeArguments(), inits, before);
  cx.lowerBlock(*op.getBeforeBody());
  scf::ConditionOp condition = op.getConditionOp();
  llvm::SmallVector<Regs> passed = cx.useAll(condition.getArgs());
  cx.b.CreateCondBr(cx.useScalar(condition.getCondition()), body, exit);
  cx.b.SetInsertPoint(body);
  cx.defineAll(op.getAfterArguments(), passed);
  traceTiles(cx, op, nullptr, [&] { cx.lowerBlock(*op.getAfterBody()); });
  addIncoming(cx, carried, cx.useAll(op.getYieldOp().getOperands()), cx.b.GetInsertBlock());
  cx.b.CreateBr(header);
  cx.b.SetInsertPoint(exit);
  cx.defineAll(op.getResults(), passed);
}

static void lowerIf(KernelContext& cx, scf::IfOp op) {
  llvm::BasicBlock *then = cx.newBlock("then"), *otherwise = cx.newBlock("else"), *after = cx.newBlock("endif");
  cx.b.CreateCondBr(cx.useScalar(op.getCondition()), then, otherwise);
  cx.b.SetInsertPoint(then);
  cx.lowerBlock(*op.thenBlock());
  llvm::SmallVector<Regs> thenValues = cx.useAll(op.thenYield().getOperands());
  llvm::BasicBlock* thenEnd = cx.b.GetInsertBlock();
  cx.b.CreateBr(after);
  cx.b.SetInsertPoint(otherwise);
  llvm::SmallVector<Regs> elseValues;
  if (!op.getElseRegion().empty()) {
    cx.lowerBlock(*op.elseBlock());
    elseValues = cx.useAll(op.elseYield().getOperands());
  }
  // Moves of a whole tile's constants stay on the way they are for.
  if (llvm::any_of(elseValues, [](const Regs& r) { return r.size() >= 32; })) cx.emit.keepApart();
  llvm::BasicBlock* elseEnd = cx.b.GetInsertBlock();
  cx.b.CreateBr(after);
  cx.b.SetInsertPoint(after);
  addIncoming(cx, phis(cx, op.getResults(), thenValues, thenEnd), elseValues, elseEnd);
}

static void lowerExecuteRegion(KernelContext& cx, scf::ExecuteRegionOp op) {
  Block& block = op.getRegion().front();
  cx.lowerBlock(block);
  cx.defineAll(op.getResults(), cx.useAll(block.getTerminator()->getOperands()));
}

void registerControl(Lowerings& table) {
  table.on<scf::ForOp>([](KernelContext& cx, auto o) { lowerFor(cx, o); });
  table.on<scf::WhileOp>([](KernelContext& cx, auto o) {
    isSpin(cx, o) ? lowerSpin(cx, o, [&] { lowerWhile(cx, o); }) : lowerWhile(cx, o);
  });
  table.on<scf::IfOp>([](KernelContext& cx, auto o) { lowerIf(cx, o); });
  table.on<scf::ExecuteRegionOp>([](KernelContext& cx, auto o) { lowerExecuteRegion(cx, o); });
}

}  // namespace tandem::lower::gpu
