// The signaller is a slice of the consumers, as the producer is; a mailbox tells it that the writes before a notify have been made.
#include "compiler/transform/gpu/signaller.h"
#include "compiler/dialect/dist/dist.h"
#include "compiler/dialect/simt/simt.h"
#include "compiler/transform/gpu/producer.h"
#include "compiler/transform/gpu/thread_dependence.h"
#include "compiler/transform/gpu/waits.h"
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tandem::transform::gpu {
using namespace mlir;
namespace {

constexpr int kSlots = 8;  // notifies under way

// Ops that do not publish anything by themselves, so that a notify before them may be late.
bool publishesNothing(Operation* op) {
  if (isa<tile::LoadOp, tile::StoreOp, tile::BlockLoadOp, tile::AssumeOp, tile::AssertOp, tile::PrintOp, simt::BarrierOp>(op)) return true;
  if (auto store = dyn_cast<tile::BlockStoreOp>(op)) return !store.getReduce();
  return isa<scf::ForOp, scf::IfOp, scf::WhileOp>(op) || isa<tgpu::TgpuDialect>(op->getDialect()) || isWait(op) ||
         isMemoryEffectFree(op);
}

class Delegation {
 public:
  explicit Delegation(tgpu::WarpSpecializeOp roles) : roles_(roles), consumer_(roles.getConsumer().front()) {}

  void run() {
    if (!findSignals() || !findPublications()) return;
    auto needed = neededFor(consumer_, signals_, publications_);
    if (!needed || llvm::any_of(needed->ops, isWait)) return;
    OpBuilder builder(roles_);
    mailbox_ = tgpu::RingOp::create(builder, roles_.getLoc(), builder.getI32Type(), kSlots, 0, false, true);
    if (!publications_.empty()) answer_ = tgpu::RingOp::create(builder, roles_.getLoc(), builder.getI32Type(), 1, 0);
    OpBuilder inSignaller = OpBuilder::atBlockEnd(&roles_.getSignaller().emplaceBlock());
    IRMapping mapping;
    cloneNeeded(consumer_, *needed, inSignaller, mapping,
                [&](Operation* op, OpBuilder& b, IRMapping& map) { return receive(op, b, map); });
    for (Operation* op : signals_) {
      post(op);
      op->erase();
    }
    for (Operation* op : publications_) {
      post(op);
      OpBuilder b(op);
      tgpu::AwaitOp::create(b, op->getLoc(), answer_);
      tgpu::AdvanceOp::create(b, op->getLoc(), answer_);
      tgpu::ReleaseOp::create(b, op->getLoc(), answer_);
    }
  }

 private:
  bool findSignals() {
    consumer_.walk([&](dist::NotifyOp op) { signals_.push_back(op); });
    return !signals_.empty();
  }

  // What publishes after the signals waits until these are sent. Among them that would be often: then nothing is gained.
  bool findPublications() {
    auto placeOf = [&](Operation* op) { return consumer_.findAncestorOpInBlock(*op); };
    return !consumer_
                .walk([&](Operation* op) {
                  if (isa<dist::NotifyOp>(op) || publishesNothing(op)) return WalkResult::advance();
                  bool isAfter = false, isAmong = isDivergent(op);
                  for (Operation* signal : signals_) {
                    isAmong |= placeOf(signal) == placeOf(op);
                    isAfter |= placeOf(signal)->isBeforeInBlock(placeOf(op));
                  }
                  if (isAfter) publications_.push_back(op);
                  return isAmong ? WalkResult::interrupt() : WalkResult::advance();
                })
                .wasInterrupted();
  }

  // In the signaller.
  bool receive(Operation* op, OpBuilder& b, IRMapping& mapping) {
    bool isSignal = llvm::is_contained(signals_, op);
    if (!isSignal && !llvm::is_contained(publications_, op)) return false;
    tgpu::AwaitOp::create(b, op->getLoc(), mailbox_);
    if (isSignal) b.clone(*op, mapping);
    tgpu::ReleaseOp::create(b, op->getLoc(), mailbox_);
    tgpu::AdvanceOp::create(b, op->getLoc(), mailbox_);
    if (isSignal) return true;
    tgpu::AcquireOp::create(b, op->getLoc(), answer_);
    tgpu::CommitOp::create(b, op->getLoc(), answer_);
    return true;
  }

  void post(Operation* before) {
    OpBuilder b(before);
    tgpu::AcquireOp::create(b, before->getLoc(), mailbox_);
    tgpu::CommitOp::create(b, before->getLoc(), mailbox_);
  }

  tgpu::WarpSpecializeOp roles_;
  Block& consumer_;
  SmallVector<Operation*> signals_, publications_;
  Value mailbox_, answer_;
};

}  // namespace

void delegateSignals(tgpu::WarpSpecializeOp roles) { Delegation(roles).run(); }

}  // namespace tandem::transform::gpu
