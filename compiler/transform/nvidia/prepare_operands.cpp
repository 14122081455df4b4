// The loop's products fall into early ones, whose results the threads compute with, and late ones, which multiply what they make of
// them. A copy of the consumers' program keeps the early ones, the program itself the late ones; what goes over is a tile, and numbers
// for its rows.
#include "compiler/dialect/simt/simt.h"
#include "compiler/dialect/tgpu/cluster.h"
#include "compiler/dialect/tgpu/tgpu.h"
#include "compiler/dialect/tile/attributes.h"
#include "compiler/target/nvidia_units.h"
#include "compiler/transform/gpu/accesses.h"
#include "compiler/transform/gpu/layout_rules.h"
#include "compiler/transform/gpu/waits.h"
#include "compiler/transform/nvidia/copy_room.h"
#include "compiler/transform/nvidia/operands.h"
#include "compiler/transform/nvidia/passes.h"
#include "compiler/transform/nvidia/ring_copies.h"
#include <llvm/ADT/SetVector.h>
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

bool isTile(Value v) { return isa<RankedTensorType>(v.getType()); }
bool isVector(Value v) {
  auto type = dyn_cast<RankedTensorType>(v.getType());
  return type && type.getRank() == 1 && type.getElementType().isF32();
}

bool isEvent(Operation* op) {
  return isa<tgpu::AwaitOp, tgpu::AdvanceOp, tgpu::ReleaseOp, tgpu::AcquireOp, tgpu::CommitOp>(op);
}
Value ringOf(Operation* event) { return event->getOperand(0); }

// Returns true if the op does what only one role may do.
bool isOnce(Operation* op) {
  bool waits = isa<tile::InlineAsmOp>(op) && gpu::isWait(op) && op->getNumOperands() == 0;
  bool mayRepeat = isMemoryEffectFree(op) || isEvent(op) || op->getNumRegions() || waits ||
                   isa<tile::LoadOp, simt::SmemLoadOp, tgpu::WgmmaOp, tgpu::WgmmaWaitOp>(op);
  return !mayRepeat && !op->hasTrait<OpTrait::IsTerminator>();
}

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
  Preparation(tgpu::WarpSpecializeOp roles, func::FuncOp kernel, const target::TargetInfo& target)
      : roles_(roles), consumer_(roles.getConsumer().front()), kernel_(kernel), target_(target) {}

  bool apply() {
    if (!findProducts() || !findVectors() || !findEarly() || !findFinals() || !mayBeCopied() || !findTold())
      return false;
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
  // One loop, whose late products all multiply one tile from registers.
  bool findProducts() {
    bool isOne = true;
    consumer_.walk([&](tgpu::WgmmaOp op) {
      auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
      isOne &=
          loop && (!loop_ || loop == loop_) && !op.getTakesTurn() && !op.getJoinsPrevious() && !op.getBeginsAtZero();
      if (loop) loop_ = loop;
      isTile(op.getLhs()) ? late_.insert(op) : early_.insert(op);
    });
    if (!isOne || early_.empty() || late_.empty()) return false;
    body_ = loop_.getBody();
    weights_ = tgpu::WgmmaOp(late_.front()).getLhs();
    auto type = cast<RankedTensorType>(weights_.getType());
    auto isOfRows = [](tgpu::WgmmaOp op) {
      return cast<RankedTensorType>(op.getType()).getDimSize(0) == target::kWgmma.rows;
    };
    constexpr int64_t kMostColumns = 128;  // of early results, which one warpgroup has in registers
    auto isNarrow = [](tgpu::WgmmaOp op) { return cast<RankedTensorType>(op.getType()).getDimSize(1) <= kMostColumns; };
    return weights_.getParentBlock() == body_ && weights_.getDefiningOp() && type.getRank() == 2 &&
           type.getElementTypeBitWidth() == 16 && llvm::all_of(early_, isOfRows) && llvm::all_of(late_, isOfRows) &&
           llvm::all_of(early_, isNarrow) &&
           llvm::all_of(early_, [](tgpu::WgmmaOp op) { return op.getLhsRing() && op.getRhsRing(); }) &&
           llvm::all_of(late_, [&](tgpu::WgmmaOp op) { return op.getLhs() == weights_ && op.getRhsRing(); });
  }

  Operation* inBody(Operation* op) const { return body_->findAncestorOpInBlock(*op); }

  // Numbers for rows, which the late products' sums are computed with.
  bool findVectors() {
    llvm::SetVector<Value> todo;
    for (tgpu::WgmmaOp op : late_) todo.insert(op.getAcc());
    for (size_t i = 0; i < todo.size(); ++i) {
      Value v = todo[i];
      Operation* op = v.getDefiningOp();
      if (!op || !loop_->isAncestor(op)) continue;
      if (isVector(v)) {
        vectors_.insert(v);
        continue;
      }
      if (auto product = dyn_cast<tgpu::WgmmaOp>(op); product && early_.contains(product)) return false;
      ofSums_.insert(inBody(op));
      op->walk([&](Operation* inner) { todo.insert(inner->operand_begin(), inner->operand_end()); });
    }
    return true;
  }

  // All that follows from the early products; it reaches the late ones by the weights and the vectors alone.
  bool findEarly() {
    llvm::SetVector<Value> todo;
    for (tgpu::WgmmaOp op : early_) todo.insert(op.getResult());
    for (size_t i = 0; i < todo.size(); ++i)
      for (OpOperand& use : todo[i].getUses()) {
        Operation* user = use.getOwner();
        if (!loop_->isProperAncestor(user)) continue;
        if (user == body_->getTerminator()) {
          earlyArguments_.insert(use.getOperandNumber());
          todo.insert(loop_.getRegionIterArg(use.getOperandNumber()));
          continue;
        }
        Operation* here = inBody(user);
        if (auto product = dyn_cast<tgpu::WgmmaOp>(here); product && late_.contains(product)) {
          if (todo[i] != weights_) return false;
          continue;
        }
        if (ofSums_.contains(here)) {
          if (!vectors_.contains(todo[i])) return false;
          continue;
        }
        bool isProduct = isa<tgpu::WgmmaOp, tgpu::WgmmaWaitOp>(here);
        if (here != user || (!isProduct && !isMemoryEffectFree(here))) return false;
        todo.insert(here->result_begin(), here->result_end());
      }
    auto isEarly = [&](Value v) { return todo.contains(v); };
    return isEarly(weights_) && llvm::all_of(vectors_, isEarly);
  }

  // Behind the loop, numbers for rows alone: what it carries, or the sums of that.
  bool findFinals() {
    for (unsigned i : earlyArguments_) {
      Value result = loop_.getResult(i);
      if (result.use_empty()) continue;
      if (isVector(result)) {
        finals_.insert(result);
        continue;
      }
      for (Operation* user : result.getUsers()) {
        if (!isa<tile::ReduceOp>(user) || user->getBlock() != loop_->getBlock() || !isVector(user->getResult(0)))
          return false;
        finals_.insert(user->getResult(0));
      }
    }
    return true;
  }

  // The copy ends with the numbers behind the loop and the early products' slots, and does not do what must be done once.
  bool mayBeCopied() {
    end_ = consumer_.findAncestorOpInBlock(*loop_);
    auto extend = [&](Operation* op) {
      Operation* here = consumer_.findAncestorOpInBlock(*op);
      if (end_->isBeforeInBlock(here)) end_ = here;
    };
    for (Value v : finals_) extend(v.getDefiningOp());
    consumer_.walk([&](Operation* op) {
      if (isEvent(op) && isEarlyRing(ringOf(op))) extend(op);
    });
    bool may = true;
    for (Operation& op : consumer_) {
      if (end_->isBeforeInBlock(&op)) break;
      op.walk([&](Operation* inner) {
        if (isOnce(inner)) may &= inner->use_empty() && !loop_->isAncestor(inner) && !gpu::isWait(inner);
      });
    }
    return may;
  }

  // What the producer is told, at one gate at most, the preparer learns as well.
  bool findTold() {
    SmallVector<Operation*> gates;
    consumer_.walk([&](tgpu::ReleaseOp op) {
      if (auto ring = op.getRing().getDefiningOp<tgpu::RingOp>(); ring && ring.getGate()) gates.push_back(op);
    });
    if (gates.empty()) return true;
    if (gates.size() > 1 || gates.front()->getBlock() != &consumer_) return false;
    gate_ = ringOf(gates.front());
    consumer_.walk([&](simt::SmemStoreOp op) {
      auto isLearnt = [&](Operation* user) {
        return isa<simt::SmemLoadOp>(user) && roles_.getProducer().isAncestor(user->getParentRegion());
      };
      if (llvm::any_of(op.getBuffer().getUsers(), isLearnt) && op->getBlock() == &consumer_) told_.push_back(op);
    });
    return true;
  }

  static int64_t bytesOfSlot(tgpu::AllocOp op) {
    auto type = cast<tile::SmemType>(op.getType());
    int64_t bits = type.getElementType().getIntOrFloatBitWidth();
    return llvm::alignTo(ShapedType::getNumElements(type.getShape()) * bits / 8, 1024);
  }

  bool isEarlyRing(Value ring) const {
    auto reads = [&](tgpu::WgmmaOp op) { return op.getLhsRing() == ring || op.getRhsRing() == ring; };
    return llvm::any_of(early_, reads) && llvm::none_of(late_, reads);
  }
  bool isLateRing(Value ring) const {
    auto reads = [&](tgpu::WgmmaOp op) { return op.getRhsRing() == ring; };
    return llvm::any_of(late_, reads) &&
           llvm::none_of(early_, [&](tgpu::WgmmaOp op) { return op.getLhsRing() == ring || op.getRhsRing() == ring; });
  }

  // Slots of what the early products alone read are free soon: one is enough where there is no room for two of all.
  bool makeRoom() {
    constexpr int64_t kNumbers = 2048,
                      kExchanges = 8 * 1024;  // numbers of rows and barriers; what threads exchange at once
    int64_t bytes = kNumbers + std::max(kExchanges, bytesExchanged(kernel_, target_)),
            weights = llvm::alignTo(bytesOf(cast<RankedTensorType>(weights_.getType())), 1024);
    kernel_.walk([&](tgpu::AllocOp op) { bytes += bytesOfSlot(op) * op.getSlots(); });
    SmallVector<tgpu::AllocOp> shorter;
    for (tgpu::WgmmaOp op : early_) {
      auto buffer = op.getRhs().getDefiningOp<tgpu::AllocOp>();
      if (!buffer || !op.getRhsRing() || !isEarlyRing(op.getRhsRing()) || buffer.getSlots() < 2) continue;
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
    weightsBuffer_ = makeBuffer(b, roles_.getLoc(), cast<RankedTensorType>(weights_.getType()), slots_);
    made_.push_back(weightsBuffer_.getDefiningOp());
    for (Value v : vectors_) vectorBuffers_.push_back(makeVector(v, slots_));
    if (finals_.empty()) return;
    ofFinals_ = makeRing(1);
    for (Value v : finals_) finalBuffers_.push_back(makeVector(v, 1));
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
      if (!end_->isBeforeInBlock(&op)) b.clone(op, map);
    auto loop = cast<scf::ForOp>(map.lookup(loop_.getOperation()));
    learn(copy, map);

    Operation* yield = loop.getBody()->getTerminator();
    for (tgpu::WgmmaOp op : late_)
      for (auto [i, yielded] : llvm::enumerate(body_->getTerminator()->getOperands()))
        if (sumBehind(yielded) == op) yield->setOperand(i, loop.getRegionIterArg(i));
    Operation* lastEarly = nullptr;
    for (auto wait : body_->getOps<tgpu::WgmmaWaitOp>())
      if (auto product = sumBehind(wait.getResult()); product && early_.contains(product))
        lastEarly = map.lookup(wait.getOperation());
    if (!lastEarly) return false;
    SmallVector<Operation*> once;
    copy.walk([&](Operation* op) {
      if (isOnce(op)) once.push_back(op);
    });
    for (Operation* op : llvm::reverse(once)) op->erase();
    send(ofWeights_, weightsBuffer_, vectorBuffers_, vectors_.getArrayRef(), map);
    if (!finals_.empty()) send(ofFinals_, nullptr, finalBuffers_, finals_.getArrayRef(), map);
    eraseUnused(copy);

    // A slot that both read is let go when the early products are done.
    SmallVector<Operation*> events;
    loop.getBody()->walk([&](Operation* op) {
      if (isEvent(op) && ringOf(op) != ofWeights_) events.push_back(op);
    });
    for (Operation* op : events) {
      if (isLateRing(ringOf(op))) {
        op->erase();
      } else if (!isa<tgpu::AwaitOp>(op) && !isEarlyRing(ringOf(op))) {
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
    if (tileBuffer) all.push_back(map.lookup(weights_));
    OpBuilder b(roles_.getContext());
    insertBehind(b, all);
    Location loc = all.front().getLoc();
    tgpu::AcquireOp::create(b, loc, ring);
    if (tileBuffer) stage(b, all.back(), tileBuffer, ring);
    for (auto [value, buffer] : llvm::zip(values, buffers)) stage(b, value, buffer, ring);
    tgpu::CommitOp::create(b, loc, ring);
  }

  void learn(Block& copy, IRMapping& map) {
    if (!gate_) return;
    SmallVector<Operation*> gone;
    copy.walk([&](Operation* op) {
      if (isEvent(op) && ringOf(op) == gate_) gone.push_back(op);
    });
    Operation* first = gone.front();
    for (simt::SmemStoreOp op : told_)
      if (Operation* from = map.lookup(op.getValue()).getDefiningOp(); from->isBeforeInBlock(first)) first = from;
    OpBuilder b(first);
    tgpu::AcquireOp::create(b, first->getLoc(), gate_);
    SmallVector<Value> learnt;
    for (simt::SmemStoreOp op : told_) {
      Value zero = arith::ConstantIntOp::create(b, op.getLoc(), 0, 32), number = op.getValue();
      learnt.push_back(simt::SmemLoadOp::create(b, op.getLoc(), number.getType(), op.getBuffer(), zero));
    }
    tgpu::CommitOp::create(b, first->getLoc(), gate_);
    for (auto [op, number] : llvm::zip(told_, learnt)) map.lookup(op.getValue()).replaceAllUsesWith(number);
    for (Operation* op : gone) op->erase();
  }

  static tgpu::WgmmaOp sumBehind(Value v) {
    while (auto wait = v.getDefiningOp<tgpu::WgmmaWaitOp>()) v = wait.getAcc();
    return v.getDefiningOp<tgpu::WgmmaOp>();
  }

  void consume() {
    SmallVector<Operation*> gone;
    consumer_.walk([&](Operation* op) {
      if (isEvent(op) && isEarlyRing(ringOf(op))) gone.push_back(op);
    });
    for (Operation* op : gone) op->erase();

    // All sums are ready before the first product: ptxas waits for it where others are written beside it.
    Operation* first = late_.front();
    for (tgpu::WgmmaOp op : late_)
      if (op->isBeforeInBlock(first)) first = op;
    SmallVector<Operation*> ofSums(ofSums_.begin(), ofSums_.end());
    llvm::erase_if(ofSums, llvm::IsaPred<tgpu::WgmmaOp, tgpu::WgmmaWaitOp>);
    llvm::sort(ofSums, [](Operation* a, Operation* b) { return a->isBeforeInBlock(b); });
    for (Operation* op : ofSums) op->moveBefore(first);
    if (!ofSums.empty()) first = ofSums.front();
    OpBuilder b(first);
    tgpu::AwaitOp::create(b, first->getLoc(), ofWeights_);
    for (auto [vector, buffer] : llvm::zip(vectors_, vectorBuffers_)) {
      Value v = vector;
      Value here = tgpu::LocalLoadOp::create(b, v.getLoc(), v.getType(), buffer, ofWeights_);
      v.replaceUsesWithIf(here, [&](OpOperand& use) {
        return loop_->isProperAncestor(use.getOwner()) && ofSums_.contains(inBody(use.getOwner()));
      });
    }
    Operation* last = nullptr;
    for (auto wait : body_->getOps<tgpu::WgmmaWaitOp>())
      if (auto product = sumBehind(wait.getResult()); product && late_.contains(product)) last = wait;
    for (tgpu::WgmmaOp op : late_) {
      op.getLhsMutable().assign(weightsBuffer_);
      op.getLhsRingMutable().assign(ofWeights_);
    }
    b.setInsertionPointAfter(last);
    tgpu::AdvanceOp::create(b, last->getLoc(), ofWeights_);
    tgpu::ReleaseOp::create(b, last->getLoc(), ofWeights_);

    if (!finals_.empty()) {
      b.setInsertionPointAfter(loop_);
      tgpu::AwaitOp::create(b, loop_.getLoc(), ofFinals_);
      for (auto [result, buffer] : llvm::zip(finals_, finalBuffers_)) {
        Value v = result;
        Value here = tgpu::LocalLoadOp::create(b, v.getLoc(), v.getType(), buffer, ofFinals_);
        v.replaceAllUsesExcept(here, here.getDefiningOp());
      }
      tgpu::AdvanceOp::create(b, loop_.getLoc(), ofFinals_);
      tgpu::ReleaseOp::create(b, loop_.getLoc(), ofFinals_);
    }
    Operation* yield = body_->getTerminator();
    for (unsigned i : earlyArguments_) yield->setOperand(i, loop_.getRegionIterArg(i));
    eraseUnused(consumer_);
  }

  tgpu::WarpSpecializeOp roles_;
  Block& consumer_;
  func::FuncOp kernel_;
  const target::TargetInfo& target_;
  scf::ForOp loop_;
  Block* body_ = nullptr;
  Operation* end_ = nullptr;
  llvm::SetVector<tgpu::WgmmaOp> early_, late_;
  Value weights_, gate_;
  llvm::SetVector<Value> vectors_, finals_;
  llvm::SetVector<Operation*> ofSums_;
  llvm::SetVector<unsigned> earlyArguments_;
  SmallVector<simt::SmemStoreOp> told_;
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
      if (!copies) Preparation(roles, kernel, *gpu).apply();
    });
  }
};

}  // namespace
}  // namespace tandem::transform::nvidia
