// The loop's products fall into early ones, whose results the threads compute with, and late ones, which multiply what they make of
// them. A copy of the consumers' program keeps the early ones, the program itself the late ones; what goes over is a tile, and numbers
// for its rows.
#include "compiler/dialect/tgpu/cluster.h"
#include "compiler/dialect/tgpu/tgpu.h"
#include "compiler/dialect/tile/attributes.h"
#include "compiler/target/nvidia_units.h"
#include "compiler/transform/gpu/accesses.h"
#include "compiler/transform/gpu/layout_rules.h"
#include "compiler/transform/nvidia/copy_room.h"
#include "compiler/transform/nvidia/operands.h"
#include "compiler/transform/nvidia/passes.h"
#include "compiler/transform/nvidia/prepared_loop.h"
#include "compiler/transform/nvidia/ring_copies.h"
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/IR/IRMapping.h>
#include <mlir/IR/Iterators.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tandem::transform::nvidia {
using namespace mlir;
#define GEN_PASS_DEF_PREPAREOPERANDS
#include "compiler/transform/nvidia/passes.h.inc"
namespace {

// Returns true if a warpgroup that has whole rows computes it without exchanges between warps, and at any time.
bool isOfRows(Operation* op) {
  if (auto load = dyn_cast<tile::LoadOp>(op); load && (load.getIsVolatile() || gpu::isWritten(load))) return false;
  auto haveTiles = [](TypeRange types) { return llvm::any_of(types, llvm::IsaPred<RankedTensorType>); };
  if (!haveTiles(op->getOperandTypes()) && !haveTiles(op->getResultTypes())) return true;
  if (auto reduce = dyn_cast<tile::ReduceOp>(op)) return reduce.getAxis() > 0;
  if (auto reshape = dyn_cast<tile::ReshapeOp>(op))
    return cast<RankedTensorType>(reshape.getType()).getDimSize(0) ==
           cast<RankedTensorType>(op->getOperand(0).getType()).getDimSize(0);
  if (isa<tile::LoadOp, tile::ScanOp, tile::MapElementwiseOp, tile::AtomicRmwOp, tile::AtomicCasOp>(op)) return false;
  return gpu::isSameLayout(op) || op->hasTrait<OpTrait::IsTerminator>() ||
         isa<tile::MakeRangeOp, tile::SplatOp, tile::ExpandDimsOp, tile::BroadcastOp, tgpu::WgmmaOp, tgpu::StageOp,
             scf::ForOp, scf::WhileOp, scf::IfOp>(op);
}

// Erases what nobody uses, and the products among it.
void eraseUnused(Block& block) {
  for (bool changed = true; changed;) {
    changed = false;
    block.walk<WalkOrder::PostOrder, ReverseIterator>([&](Operation* op) {
      if (!isOpTriviallyDead(op) && !(isa<tgpu::WgmmaOp, tgpu::WgmmaWaitOp>(op) && op->use_empty())) return;
      op->erase();
      changed = true;
    });
  }
}

class Preparation {
 public:
  Preparation(tgpu::WarpSpecializeOp roles, func::FuncOp kernel, const target::TargetInfo& target, PreparedLoop of)
      : roles_(roles), consumer_(roles.getConsumer().front()), kernel_(kernel), target_(target), of_(std::move(of)) {}

  bool apply() {
    if (!makeRoom()) return false;
    makeRings();
    if (!prepare()) {
      roles_.getPreparer().front().erase();
      for (Operation* op : llvm::reverse(made_)) op->erase();
      return false;
    }
    shorten();
    consume();
    return true;
  }

 private:
  static int64_t bytesOfSlot(tgpu::AllocOp op) {
    auto type = cast<tile::SmemType>(op.getType());
    int64_t bits = type.getElementType().getIntOrFloatBitWidth();
    return llvm::alignTo(ShapedType::getNumElements(type.getShape()) * bits / 8, 1024);
  }

  // Slots of what the early products alone read are free soon: one is enough where there is no room for two of all.
  bool makeRoom() {
    constexpr int64_t kNumbers = 2048,
                      kExchanges = 8 * 1024;  // numbers of rows and barriers; what threads exchange at once
    int64_t bytes = kNumbers + std::max(kExchanges, bytesExchanged(kernel_, target_)),
            weights = llvm::alignTo(bytesOf(cast<RankedTensorType>(of_.weights.getType())), 1024);
    kernel_.walk([&](tgpu::AllocOp op) { bytes += bytesOfSlot(op) * op.getSlots(); });
    SmallVector<tgpu::AllocOp> shorter;
    for (tgpu::WgmmaOp op : of_.early) {
      auto buffer = op.getRhs().getDefiningOp<tgpu::AllocOp>();
      if (!buffer || !op.getRhsRing() || !of_.isEarlyRing(op.getRhsRing()) || buffer.getSlots() < 2) continue;
      shorter.push_back(buffer);
    }
    slots_ = 2;
    auto isFull = [&] { return bytes + slots_ * weights > target_.maxSharedBytes(); };
    if (isFull())
      for (tgpu::AllocOp buffer : shorter) {
        bytes -= bytesOfSlot(buffer) * (buffer.getSlots() - 1);
        shortened_.push_back(buffer);
      }
    if (isFull()) slots_ = 1;
    return !isFull();
  }

  Value makeRing(int64_t slots) {
    OpBuilder b(roles_);
    return made_.emplace_back(tgpu::RingOp::create(b, roles_.getLoc(), b.getI32Type(), slots, 0, false, true))
        ->getResult(0);
  }

  Value makeVector(Value of, int64_t slots) {
    OpBuilder b(roles_);
    auto type = cast<RankedTensorType>(of.getType());
    auto smem = tile::SmemType::get(b.getContext(), type.getShape(), type.getElementType());
    return made_
        .emplace_back(tgpu::AllocOp::create(b, roles_.getLoc(), smem, b.getI32IntegerAttr(slots),
                                            b.getI32IntegerAttr(0), nullptr))
        ->getResult(0);
  }

  void shorten() {
    for (tgpu::AllocOp buffer : shortened_) {
      buffer.setSlots(1);
      for (Operation* user : buffer->getUsers())
        if (auto product = dyn_cast<tgpu::WgmmaOp>(user))
          product.getRhsRing().getDefiningOp<tgpu::RingOp>().setSlots(1);
    }
  }

  void makeRings() {
    OpBuilder b(roles_);
    ofWeights_ = makeRing(slots_);
    weightsBuffer_ = makeBuffer(b, roles_.getLoc(), cast<RankedTensorType>(of_.weights.getType()), slots_);
    made_.push_back(weightsBuffer_.getDefiningOp());
    for (Value v : of_.vectors) vectorBuffers_.push_back(makeVector(v, slots_));
    if (of_.finals.empty()) return;
    ofFinals_ = makeRing(1);
    for (Value v : of_.finals) finalBuffers_.push_back(makeVector(v, 1));
  }

  static void stage(OpBuilder& b, Value tile, Value buffer, Value ring) {
    tgpu::StageOp::create(b, tile.getLoc(), tile, buffer, ring, b.getI32IntegerAttr(0));
  }

  static void insertBehind(OpBuilder& b, ArrayRef<Value> values) {
    Operation* last = values.front().getDefiningOp();
    for (Value v : values)
      if (last->isBeforeInBlock(v.getDefiningOp())) last = v.getDefiningOp();
    b.setInsertionPointAfter(last);
  }

  bool prepare() {
    Block& copy = roles_.getPreparer().emplaceBlock();
    IRMapping map;
    OpBuilder b = OpBuilder::atBlockEnd(&copy);
    for (Operation& op : consumer_)
      if (!of_.end->isBeforeInBlock(&op)) b.clone(op, map);
    auto loop = cast<scf::ForOp>(map.lookup(of_.loop.getOperation()));
    learn(copy, map);

    Operation* yield = loop.getBody()->getTerminator();
    for (tgpu::WgmmaOp op : of_.late)
      for (auto [i, yielded] : llvm::enumerate(of_.body->getTerminator()->getOperands()))
        if (sumBehind(yielded) == op) yield->setOperand(i, loop.getRegionIterArg(i));
    Operation* lastEarly = nullptr;
    for (auto wait : of_.body->getOps<tgpu::WgmmaWaitOp>())
      if (auto product = sumBehind(wait.getResult()); product && of_.early.contains(product))
        lastEarly = map.lookup(wait.getOperation());
    if (!lastEarly) return false;
    SmallVector<Operation*> once;
    copy.walk([&](Operation* op) {
      if (isOnce(op)) once.push_back(op);
    });
    for (Operation* op : llvm::reverse(once)) op->erase();
    send(ofWeights_, weightsBuffer_, vectorBuffers_, of_.vectors.getArrayRef(), map);
    if (!of_.finals.empty()) send(ofFinals_, nullptr, finalBuffers_, of_.finals.getArrayRef(), map);
    eraseUnused(copy);

    // A slot that both read is let go when the early products are done.
    SmallVector<Operation*> events;
    loop.getBody()->walk([&](Operation* op) {
      if (isEvent(op) && ringOf(op) != ofWeights_) events.push_back(op);
    });
    for (Operation* op : events) {
      if (of_.isLateRing(ringOf(op))) {
        op->erase();
      } else if (!isa<tgpu::AwaitOp>(op) && !of_.isEarlyRing(ringOf(op))) {
        op->moveAfter(lastEarly);
        lastEarly = op;
      }
    }
    return !copy.walk([](Operation* op) { return isOfRows(op) ? WalkResult::advance() : WalkResult::interrupt(); })
                .wasInterrupted();
  }

  void send(Value ring, Value tileBuffer, ArrayRef<Value> buffers, ArrayRef<Value> vectors, IRMapping& map) {
    SmallVector<Value> values = llvm::map_to_vector(vectors, [&](Value v) { return map.lookup(v); });
    SmallVector<Value> all = values;
    if (tileBuffer) all.push_back(map.lookup(of_.weights));
    OpBuilder b(roles_.getContext());
    insertBehind(b, all);
    Location loc = all.front().getLoc();
    tgpu::AcquireOp::create(b, loc, ring, IntegerAttr());
    if (tileBuffer) stage(b, all.back(), tileBuffer, ring);
    for (auto [value, buffer] : llvm::zip(values, buffers)) stage(b, value, buffer, ring);
    tgpu::CommitOp::create(b, loc, ring);
  }

  void learn(Block& copy, IRMapping& map) {
    if (!of_.gate) return;
    SmallVector<Operation*> gone;
    copy.walk([&](Operation* op) {
      if (isEvent(op) && ringOf(op) == of_.gate) gone.push_back(op);
    });
    Operation* first = gone.front();
    for (simt::SmemStoreOp op : of_.told)
      if (Operation* from = map.lookup(op.getValue()).getDefiningOp(); from->isBeforeInBlock(first)) first = from;
    OpBuilder b(first);
    tgpu::AcquireOp::create(b, first->getLoc(), of_.gate, IntegerAttr());
    SmallVector<Value> learnt;
    for (simt::SmemStoreOp op : of_.told) {
      Value zero = arith::ConstantIntOp::create(b, op.getLoc(), 0, 32), number = op.getValue();
      learnt.push_back(simt::SmemLoadOp::create(b, op.getLoc(), number.getType(), op.getBuffer(), zero));
    }
    tgpu::CommitOp::create(b, first->getLoc(), of_.gate);
    for (auto [op, number] : llvm::zip(of_.told, learnt)) map.lookup(op.getValue()).replaceAllUsesWith(number);
    for (Operation* op : gone) op->erase();
  }

  static tgpu::WgmmaOp sumBehind(Value v) {
    while (auto wait = v.getDefiningOp<tgpu::WgmmaWaitOp>()) v = wait.getAcc();
    return v.getDefiningOp<tgpu::WgmmaOp>();
  }

  void consume() {
    SmallVector<Operation*> gone;
    consumer_.walk([&](Operation* op) {
      if (isEvent(op) && of_.isEarlyRing(ringOf(op))) gone.push_back(op);
    });
    for (Operation* op : gone) op->erase();

    // All sums are ready before the first product: ptxas waits for it where others are written beside it.
    Operation* first = of_.late.front();
    for (tgpu::WgmmaOp op : of_.late)
      if (op->isBeforeInBlock(first)) first = op;
    SmallVector<Operation*> ofSums(of_.ofSums.begin(), of_.ofSums.end());
    llvm::erase_if(ofSums, llvm::IsaPred<tgpu::WgmmaOp, tgpu::WgmmaWaitOp>);
    llvm::sort(ofSums, [](Operation* a, Operation* b) { return a->isBeforeInBlock(b); });
    for (Operation* op : ofSums) op->moveBefore(first);
    if (!ofSums.empty()) first = ofSums.front();
    OpBuilder b(first);
    tgpu::AwaitOp::create(b, first->getLoc(), ofWeights_);
    for (auto [vector, buffer] : llvm::zip(of_.vectors, vectorBuffers_)) {
      Value v = vector;
      Value here = tgpu::LocalLoadOp::create(b, v.getLoc(), v.getType(), buffer, ofWeights_);
      v.replaceUsesWithIf(here, [&](OpOperand& use) {
        return of_.loop->isProperAncestor(use.getOwner()) && of_.ofSums.contains(of_.inBody(use.getOwner()));
      });
    }
    Operation* last = nullptr;
    for (auto wait : of_.body->getOps<tgpu::WgmmaWaitOp>())
      if (auto product = sumBehind(wait.getResult()); product && of_.late.contains(product)) last = wait;
    for (tgpu::WgmmaOp op : of_.late) {
      op.getLhsMutable().assign(weightsBuffer_);
      op.getLhsRingMutable().assign(ofWeights_);
    }
    b.setInsertionPointAfter(last);
    tgpu::AdvanceOp::create(b, last->getLoc(), ofWeights_);
    tgpu::ReleaseOp::create(b, last->getLoc(), ofWeights_);

    if (!of_.finals.empty()) {
      b.setInsertionPointAfter(of_.loop);
      tgpu::AwaitOp::create(b, of_.loop.getLoc(), ofFinals_);
      for (auto [result, buffer] : llvm::zip(of_.finals, finalBuffers_)) {
        Value v = result;
        Value here = tgpu::LocalLoadOp::create(b, v.getLoc(), v.getType(), buffer, ofFinals_);
        v.replaceAllUsesExcept(here, here.getDefiningOp());
      }
      tgpu::AdvanceOp::create(b, of_.loop.getLoc(), ofFinals_);
      tgpu::ReleaseOp::create(b, of_.loop.getLoc(), ofFinals_);
    }
    Operation* yield = of_.body->getTerminator();
    for (unsigned i : of_.earlyArguments) yield->setOperand(i, of_.loop.getRegionIterArg(i));
    eraseUnused(consumer_);
  }

  tgpu::WarpSpecializeOp roles_;
  Block& consumer_;
  func::FuncOp kernel_;
  const target::TargetInfo& target_;
  PreparedLoop of_;
  SmallVector<tgpu::AllocOp> shortened_;
  SmallVector<Operation*> made_;
  int64_t slots_ = 2;
  Value ofWeights_, weightsBuffer_, ofFinals_;
  SmallVector<Value> vectorBuffers_, finalBuffers_;
};

struct PrepareOperands : impl::PrepareOperandsBase<PrepareOperands> {
  using Base::Base;
  void runOnOperation() override {
    const target::TargetInfo* gpu = targetOf(target);
    func::FuncOp kernel = getOperation();
    // Two warpgroups that have the same rows exchange what follows from them in each iteration; one alone does not.
    constexpr int kSharing = 2 * target::kWgmma.warps;
    if (!gpu || !gpu->hasSetMaxRegister() || tile::numWarps(kernel) != kSharing || tgpu::blocksOf(kernel) > 1) return;
    kernel.walk([&](tgpu::WarpSpecializeOp roles) {
      if (!roles.getSignaller().empty() || !roles.getPreparer().empty()) return;
      bool copies =
          roles.getProducer().walk([](tgpu::CopyAsyncOp) { return WalkResult::interrupt(); }).wasInterrupted();
      if (copies) return;
      if (std::optional<PreparedLoop> loop = findPreparedLoop(roles))
        Preparation(roles, kernel, *gpu, std::move(*loop)).apply();
    });
  }
};

}  // namespace
}  // namespace tandem::transform::nvidia
