// The signaller is a slice of the consumers, as the producer is; a mailbox tells it that the writes before a notify have been made.
#include "compiler/transform/gpu/signaller.h"
#include "compiler/dialect/dist/dist.h"
#include "compiler/transform/gpu/producer.h"
#include "compiler/transform/gpu/waits.h"
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tandem::transform::gpu {
using namespace mlir;
namespace {

constexpr int kSlots = 8;  // notifies under way

// Ops that do not publish anything by themselves, so that a notify before them may be late.
bool publishesNothing(Operation* op) {
  if (isa<tile::LoadOp, tile::StoreOp, tile::BlockLoadOp, tile::AssumeOp, tile::AssertOp, tile::PrintOp>(op)) return true;
  if (auto store = dyn_cast<tile::BlockStoreOp>(op)) return !store.getReduce();
  return isa<scf::ForOp, scf::IfOp, scf::WhileOp>(op) || isa<tgpu::TgpuDialect>(op->getDialect()) || isWait(op) ||
         isMemoryEffectFree(op);
}

}  // namespace

void delegateSignals(tgpu::WarpSpecializeOp roles) {
  Block& consumer = roles.getConsumer().front();
  SmallVector<Operation*> signals;
  bool fits = !roles.getConsumer()
                   .walk([&](Operation* op) {
                     if (isa<dist::NotifyOp>(op)) signals.push_back(op);
                     else if (!publishesNothing(op)) return WalkResult::interrupt();
                     return WalkResult::advance();
                   })
                   .wasInterrupted();
  if (!fits || signals.empty()) return;
  auto needed = neededFor(consumer, signals);
  if (!needed || llvm::any_of(needed->ops, isWait)) return;

  OpBuilder builder(roles);
  Value mailbox = tgpu::RingOp::create(builder, roles.getLoc(), builder.getI32Type(), kSlots, 0, false, true);
  OpBuilder inSignaller = OpBuilder::atBlockEnd(&roles.getSignaller().emplaceBlock());
  IRMapping mapping;
  cloneNeeded(consumer, *needed, inSignaller, mapping, [&](Operation* op, OpBuilder& b, IRMapping& map) {
    if (!llvm::is_contained(signals, op)) return false;
    tgpu::AwaitOp::create(b, op->getLoc(), mailbox);
    b.clone(*op, map);
    tgpu::ReleaseOp::create(b, op->getLoc(), mailbox);
    tgpu::AdvanceOp::create(b, op->getLoc(), mailbox);
    return true;
  });
  for (Operation* op : signals) {
    builder.setInsertionPoint(op);
    tgpu::AcquireOp::create(builder, op->getLoc(), mailbox);
    tgpu::CommitOp::create(builder, op->getLoc(), mailbox);
    op->erase();
  }
}

}  // namespace tandem::transform::gpu
