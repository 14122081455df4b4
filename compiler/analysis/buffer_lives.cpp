// A life begins and ends in one block of operations: the innermost that has all uses, and in which a store to the whole
// buffer comes first, so that nothing is left from an earlier iteration.
#include "compiler/analysis/buffer_lives.h"
#include "compiler/dialect/tgpu/tgpu.h"
#include <llvm/ADT/SetVector.h>
#include <mlir/Dialect/SCF/IR/SCF.h>

namespace tandem::analysis {
using namespace mlir;
namespace {

// Returns the wait for all products that stands behind `sum` and before `use` in their block, or null.
Operation* waitForAll(Value sum, Operation* use) {
  Block* block = sum.getParentBlock();
  Operation* end = block->findAncestorOpInBlock(*use);
  Operation* at = sum.getDefiningOp() ? sum.getDefiningOp()->getNextNode() : &block->front();
  for (; at && at != end; at = at->getNextNode())
    if (auto wait = dyn_cast<tgpu::WgmmaWaitOp>(at); wait && !wait.getPending()) return at;
  return nullptr;
}

// The ops until which a product may read its operands: those that wait for its sum, or take it, wherever loops and branches
// hand it on.
void addUsesOfSum(Value sum, llvm::SetVector<Operation*>& ops) {
  llvm::SetVector<Value> sums;
  sums.insert(sum);
  for (size_t i = 0; i < sums.size(); ++i)
    for (OpOperand& use : sums[i].getUses()) {
      Operation* op = use.getOwner();
      if (Operation* wait = waitForAll(sums[i], op)) {
        ops.insert(wait);
        continue;
      }
      ops.insert(op);
      auto wait = dyn_cast<tgpu::WgmmaWaitOp>(op);
      if (isa<tgpu::WgmmaOp>(op) || (wait && wait.getPending())) sums.insert(op->getResult(0));
      Operation* around = op->getParentOp();
      if (isa<scf::YieldOp>(op) && around->getNumResults()) {
        sums.insert(around->getResult(use.getOperandNumber()));
        if (auto loop = dyn_cast<scf::ForOp>(around)) sums.insert(loop.getRegionIterArg(use.getOperandNumber()));
      }
      if (auto loop = dyn_cast<scf::ForOp>(op))
        if (OpOperand* init = &use; init->getOperandNumber() >= loop.getNumControlOperands())
          sums.insert(loop.getTiedLoopRegionIterArg(init));
    }
}

// Fills the whole buffer, or begins to, when all threads have met.
bool fills(Operation* op) { return isa<tgpu::LocalStoreOp, tgpu::RewindOp>(op); }

}  // namespace

BufferLives::BufferLives(func::FuncOp kernel) {
  unsigned count = 0;
  kernel.walk<WalkOrder::PreOrder>([&](Operation* op) { numbers_[op].begin = count++; });
  kernel.walk<WalkOrder::PostOrder>([&](Operation* op) {
    Life& life = numbers_[op];
    life.end = std::max(life.end, life.begin);
    if (Operation* around = op->getParentOp(); around && numbers_.contains(around))
      numbers_[around].end = std::max(numbers_[around].end, life.end);
  });
}

std::optional<Life> BufferLives::of(Value thing) const {
  bool isRing = isa<tgpu::CopyRingOp>(thing.getDefiningOp());
  llvm::SetVector<Operation*> ops;
  for (Operation* user : thing.getUsers()) {
    bool isKnown = isa<tgpu::LocalStoreOp, tgpu::LocalLoadOp, tgpu::WgmmaOp>(user);
    if (isRing) isKnown |= isa<tgpu::RewindOp, tgpu::CopyAsyncOp, tgpu::CommitOp, tgpu::AwaitOp>(user);
    if (!isKnown) return std::nullopt;
    ops.insert(user);
    if (auto product = dyn_cast<tgpu::WgmmaOp>(user)) addUsesOfSum(product.getResult(), ops);
  }
  if (ops.empty()) return std::nullopt;
  Block* block = ops.front()->getBlock();
  auto inBlock = [&](Operation* op) { return block->findAncestorOpInBlock(*op); };
  while (true) {
    Operation *first = nullptr, *last = nullptr;
    if (llvm::all_of(ops, inBlock))
      for (Operation* op : ops) {
        Operation* at = inBlock(op);
        if (!first || at->isBeforeInBlock(first)) first = at;
        if (!last || last->isBeforeInBlock(at)) last = at;
      }
    Operation* around = block->getParentOp();
    if (first && (fills(first) || isa<func::FuncOp>(around)))
      return Life{numbers_.find(first)->second.begin, numbers_.find(last)->second.end};
    if (isa<func::FuncOp>(around)) return std::nullopt;
    block = around->getBlock();
  }
}

}  // namespace tandem::analysis
