// The threads of a program meet before such a loop and behind it, not in each of its iterations.
#include "compiler/lower/gpu/spin.h"
#include "compiler/lower/gpu/orders.h"

namespace tandem::lower::gpu {
using namespace mlir;
namespace {

bool isScalar(mlir::Value value) { return !isa<RankedTensorType>(value.getType()); }

tile::Concurrency concurrencyOf(Operation* update) { return *tile::concurrencyOf(update); }

bool isSequential(Operation* update) {
  if (auto swap = dyn_cast<tile::AtomicCasOp>(update)) return swap.getSem() == tile::Semantic::SeqCst;
  auto rmw = dyn_cast<tile::AtomicRmwOp>(update);
  return rmw && rmw.getSem() == tile::Semantic::SeqCst;
}

bool isVolatile(Operation* op) {
  auto load = dyn_cast<tile::LoadOp>(op);
  return load && load.getIsVolatile();
}

// An update, or a look at memory. Null: the loop does something else, too, than to meet at barriers.
Operation* onlyUpdate(scf::WhileOp loop) {
  Operation* update = nullptr;
  WalkResult walked = loop->walk([&](Operation* op) {
    if (op == loop || op->hasTrait<OpTrait::IsTerminator>() || isa<tile::AssumeOp, simt::BarrierOp>(op))
      return WalkResult::advance();
    if (!llvm::all_of(op->getOperands(), isScalar) || !llvm::all_of(op->getResults(), isScalar) || op->getNumRegions())
      return WalkResult::interrupt();
    if (isMemoryEffectFree(op)) return WalkResult::advance();
    if (update || (!isa<tile::AtomicCasOp, tile::AtomicRmwOp>(op) && !isVolatile(op))) return WalkResult::interrupt();
    update = op;
    return WalkResult::advance();
  });
  return walked.wasInterrupted() ? nullptr : update;
}

}  // namespace

bool isSpin(KernelContext& cx, scf::WhileOp loop) {
  if (cx.isOneThread() || cx.blocks != 1 || !loop->use_empty() || !llvm::all_of(loop.getInits(), isScalar))
    return false;
  Operation* update = onlyUpdate(loop);
  return update && !isSequential(update) && !cx.threadValues(loop).actsEach(update);
}

void lowerSpin(KernelContext& cx, scf::WhileOp loop, llvm::function_ref<void()> lowerLoop) {
  tile::Concurrency does = concurrencyOf(onlyUpdate(loop));
  if (does.releases) cx.emit.completeStores();
  cx.emit.programBarrier();
  cx.when(cx.isFirstThread(), [&] {
    if (does.releases) cx.emit.fence(scopeOf(*does.releases));
    cx.spins = true;
    lowerLoop();
    cx.spins = false;
  });
  cx.emit.programBarrier();
}

}  // namespace tandem::lower::gpu
