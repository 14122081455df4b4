// Reorders the products of a loop, their waits, and the events of the rings that they read.
#include "compiler/analysis/zeros.h"
#include "compiler/dialect/tile/attributes.h"
#include "compiler/dialect/tgpu/tgpu.h"
#include "compiler/transform/gpu/accesses.h"
#include "compiler/transform/nvidia/carried_sums.h"
#include "compiler/transform/nvidia/operands.h"
#include "compiler/transform/nvidia/passes.h"
#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/SetVector.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <utility>

namespace tandem::transform::nvidia {
using namespace mlir;
using namespace gpu;
#define GEN_PASS_DEF_SCHEDULEPRODUCTS
#include "compiler/transform/nvidia/passes.h.inc"
namespace {

// A ring that products of the loop read, and the only events of it in the loop's body.
struct Reads {
  tgpu::AwaitOp await;
  tgpu::AdvanceOp advance;
  // both null for a ring of copies: the await of the next iteration says that the slot has been read
  tgpu::ReleaseOp release;
  bool isCopied() const { return !advance; }
};

class Schedule {
  // A thread has these for results of products and tiles that wait beside them: with a producer or more warps than four, and without.
  static constexpr int64_t kMostRegisters = 160, kMostAlone = 200;

 public:
  explicit Schedule(scf::ForOp loop) : loop_(loop), body_(loop.getBody()) {}

  bool apply() {
    if (!collect()) return false;
    chain();
    loadFirst();
    if (haveRegisters()) startEarly();
    placeAdvances();
    for (auto& [product, wait] : waits_)
      if (wait.getAcc() == product->getResult(0)) awaitLate(product, wait);
    awaitTogether();
    countPending();
    prepareSums();
    return true;
  }

 private:
  // Returns false unless each product is awaited where it stands, and each ring has one event of each kind.
  bool collect() {
    for (auto product : body_->getOps<tgpu::WgmmaOp>()) {
      auto wait = dyn_cast<tgpu::WgmmaWaitOp>(behindLoads(product));
      bool isOwn =
          wait && wait.getAcc() == product.getResult() && product.getResult().hasOneUse() && wait.getPending() == 0;
      if (!isOwn || product.getTakesTurn() || product.getJoinsPrevious()) return false;
      waits_.insert({product, wait});
      for (Value ring : {product.getLhsRing(), product.getRhsRing()})
        if (ring && !addRing(ring)) return false;
    }
    int waits = llvm::range_size(body_->getOps<tgpu::WgmmaWaitOp>());
    return waits_.size() > 1 && waits == int(waits_.size());
  }

  // Returns the op behind `product` and what begins while it runs: copies, and loads for the next iteration.
  static Operation* behindLoads(tgpu::WgmmaOp product) {
    auto mayRun = [](Operation* op) {
      if (isa<tgpu::WgmmaOp, tgpu::WgmmaWaitOp>(op) || op->hasTrait<OpTrait::IsTerminator>()) return false;
      return isa<tgpu::CopyAsyncOp, tgpu::CommitOp, tile::LoadOp>(op) || isMemoryEffectFree(op);
    };
    Operation* op = product->getNextNode();
    while (mayRun(op)) op = op->getNextNode();
    return op;
  }

  bool addRing(Value ring) {
    auto [at, isNew] = rings_.insert({ring, {}});
    if (!isNew) return true;
    Reads& reads = at->second;
    bool isRing = !ring.getDefiningOp<tgpu::CopyRingOp>();
    for (Operation* user : ring.getUsers()) {
      if (user->getBlock() != body_) continue;
      if (auto op = dyn_cast<tgpu::AwaitOp>(user)) {
        if (reads.await) return false;
        reads.await = op;
      } else if (auto op = dyn_cast<tgpu::AdvanceOp>(user)) {
        if (reads.advance) return false;
        reads.advance = op;
      } else if (auto op = dyn_cast<tgpu::ReleaseOp>(user)) {
        if (reads.release) return false;
        reads.release = op;
      } else if (isa<tgpu::LocalLoadOp>(user) && isRing) {
        return false;
      }
    }
    bool isHere = reads.await || reads.advance || reads.release;  // a slot of another block's is there all the time
    if (isHere && (!reads.await || !reads.advance != !isRing || !reads.release != !isRing)) return false;
    if (!isHere) rings_.erase(ring);
    return true;
  }

  // A product of buffers, to whose result only another one is added, is waited for with that one.
  void chain() {
    auto isRead = [&](Value buffer) { return isa<tile::SmemType>(buffer.getType()) && !isStoredHere(buffer); };
    for (auto& [op, wait] : llvm::reverse(waits_)) {
      auto product = cast<tgpu::WgmmaOp>(op);
      if (!wait.getResult().hasOneUse() || !isRead(product.getLhs()) || !isRead(product.getRhs())) continue;
      auto next = dyn_cast<tgpu::WgmmaOp>(*wait.getResult().user_begin());
      if (!next || next->getBlock() != body_ || next.getAcc() != wait.getResult()) continue;
      next.getAccMutable().assign(product.getResult());
      std::exchange(wait, waits_[next]).erase();
    }
  }

  // Products whose operands are there when the iteration begins come first, in their order.
  void startEarly() {
    for (auto& [op, wait] : waits_) {
      auto product = cast<tgpu::WgmmaOp>(op);
      if (!isThereAtBegin(product)) continue;
      for (Value ring : {product.getLhsRing(), product.getRhsRing()})
        if (auto reads = rings_.find(ring); reads != rings_.end()) moveUp(reads->second.await);
      moveUp(op);
    }
  }

  void placeAdvances() {
    for (auto& [ring, reads] : rings_)
      if (!reads.isCopied()) reads.advance->moveAfter(lastReader(ring));
  }

  static int64_t registersOf(Value tile, int64_t threads) {
    auto type = cast<RankedTensorType>(tile.getType());
    Type element = type.getElementType();
    int64_t bits = isa<tile::PtrType>(element) ? 64 : element.getIntOrFloatBitWidth();
    return type.getNumElements() * bits / 32 / threads;
  }

  int64_t threads() const { return target::kNvidiaWarp * tile::numWarps(loop_->getParentOfType<func::FuncOp>()); }

  int64_t registersOfResults() const {
    int64_t sum = 0;
    for (const auto& [product, wait] : waits_) sum += registersOf(product->getResult(0), threads());
    return sum;
  }

  // Carried tiles that the iteration computes anew, beside its products' results.
  int64_t registersOfOthers() const {
    int64_t sum = 0;
    scf::ForOp loop = loop_;
    for (auto [carried, next] : llvm::zip(loop.getRegionIterArgs(), loop.getYieldedValues()))
      if (isa<RankedTensorType>(carried.getType()) && carried != next &&
          !isa_and_nonnull<tgpu::WgmmaOp, tgpu::WgmmaWaitOp>(next.getDefiningOp()))
        sum += registersOf(carried, threads());
    return sum;
  }

  // Early products' results are all there at once, beside the sums.
  bool haveRegisters() const {
    scf::ForOp loop = loop_;
    bool isAlone = tile::numWarps(loop->getParentOfType<func::FuncOp>()) <= kFewWarps &&
                   !loop->getParentOfType<tgpu::WarpSpecializeOp>();
    return registersOfResults() + registersOfOthers() <= (isAlone ? kMostAlone : kMostRegisters);
  }

  // Loads of other tiles begin before the first product: what comes behind a wait would be held up by it. Large tiles
  // do if a thread has registers for them beside the products' results.
  void loadFirst() {
    constexpr int64_t kSmall = 4;
    SmallVector<Operation*> loads;
    int64_t held = registersOfResults();
    for (auto load : body_->getOps<tile::LoadOp>()) {
      if (load.getIsVolatile() || !isa<RankedTensorType>(load.getType()) || holdsBackIn(loop_, load)) continue;
      if (isForNext(load)) continue;
      if (int64_t own = registersOf(load.getResult(), threads()); own > kSmall && isBehindProduct(load)) {
        if (held + own >= kMostRegisters) continue;
        held += own;
      }
      loads.push_back(load);
    }
    for (Operation* load : loads) {
      llvm::SetVector<Operation*> needed;
      if (!collectPure(load, needed)) continue;
      SmallVector<Operation*> ops(needed.getArrayRef());
      llvm::sort(ops, [](Operation* a, Operation* b) { return a->isBeforeInBlock(b); });
      for (Operation* op : ops) moveUp(op);
    }
  }

  // The loop carries what is loaded behind a product: the author has chosen when registers are free for it.
  bool isForNext(tile::LoadOp load) const {
    return isBehindProduct(load) &&
           llvm::all_of(load->getUsers(), [&](Operation* user) { return user == body_->getTerminator(); });
  }

  bool isBehindProduct(Operation* op) const { return waits_.begin()->first->isBeforeInBlock(op); }

  // False: the op needs another that must stay where it is.
  bool collectPure(Operation* op, llvm::SetVector<Operation*>& needed) {
    if (op->getBlock() != body_ || needed.contains(op)) return true;
    bool moves = needed.empty() || (isMemoryEffectFree(op) && !op->getNumRegions());
    if (!moves || isa<tgpu::WgmmaOp, tgpu::WgmmaWaitOp>(op)) return false;
    needed.insert(op);
    return llvm::all_of(op->getOperands(),
                        [&](Value v) { return !v.getDefiningOp() || collectPure(v.getDefiningOp(), needed); });
  }

  // To the others that have been moved so, behind them; one that stands before the last of them stays.
  void moveUp(Operation* op) {
    if (last_ && (op == last_ || op->isBeforeInBlock(last_))) return;
    last_ ? op->moveAfter(last_) : op->moveBefore(body_, body_->begin());
    last_ = op;
  }

  bool isThereAtBegin(tgpu::WgmmaOp product) {
    auto isOutside = [&](Value v) { return isa<BlockArgument>(v) || v.getParentBlock() != body_; };
    Value acc = product.getAcc();
    bool isChained = last_ && acc.getDefiningOp<tgpu::WgmmaOp>() == last_;
    if (!isOutside(product.getLhs()) || !(isChained || isOutside(acc) || analysis::isZero(acc))) return false;
    for (auto [buffer, ring] :
         {std::pair(product.getLhs(), product.getLhsRing()), std::pair(product.getRhs(), product.getRhsRing())})
      if (!ring && isa<tile::SmemType>(buffer.getType()) && isStoredHere(buffer)) return false;
    if (!isChained && !isOutside(acc)) moveOut(acc.getDefiningOp());
    return true;
  }

  // A zero depends on nothing but other constants.
  void moveOut(Operation* op) {
    for (Value operand : op->getOperands())
      if (Operation* source = operand.getDefiningOp(); source && source->getBlock() == body_) moveOut(source);
    op->moveBefore(loop_);
  }

  bool isStoredHere(Value buffer) {
    return llvm::any_of(buffer.getUsers(),
                        [&](Operation* user) { return isa<tgpu::LocalStoreOp>(user) && user->getBlock() == body_; });
  }

  Operation* lastReader(Value ring) {
    Operation* last = nullptr;
    for (auto& [op, wait] : waits_) {
      auto product = cast<tgpu::WgmmaOp>(op);
      if ((product.getLhsRing() == ring || product.getRhsRing() == ring) && (!last || last->isBeforeInBlock(op)))
        last = op;
    }
    return last;
  }

  // A product's wait goes to its result's first use. A store to a buffer that the product reads is one: it would
  // overwrite the operand.
  void awaitLate(Operation* product, tgpu::WgmmaWaitOp wait) {
    Operation* first = body_->getTerminator();
    auto consider = [&](Operation* user) {
      Operation* here = body_->findAncestorOpInBlock(*user);
      if (here && product->isBeforeInBlock(here) && here->isBeforeInBlock(first)) first = here;
    };
    for (Operation* user : wait.getResult().getUsers()) consider(user);
    for (Value operand : product->getOperands())
      if (isa<tile::SmemType>(operand.getType()))
        for (Operation* user : operand.getUsers())
          if (isa<tgpu::LocalStoreOp>(user)) consider(user);
    wait->moveBefore(first);
  }

  // Products are done in their order: behind a later one's wait, an earlier one's costs nothing, and its operand's registers are
  // free from there on.
  void awaitTogether() {
    for (auto& [product, wait] : waits_) {
      Operation* first = nullptr;
      for (auto& [later, other] : waits_)
        if (product->isBeforeInBlock(later) && other->isBeforeInBlock(wait) && product->isBeforeInBlock(other) &&
            (!first || other->isBeforeInBlock(first)))
          first = other;
      if (first && wait.getAcc() == product->getResult(0)) wait->moveAfter(first);
    }
  }

  // Waits come in the order of the products: one that is behind a later product's is not needed for its own.
  void countPending() {
    SmallVector<Operation*> started;
    llvm::MapVector<Value, Operation*> doneAt;
    size_t done = 0;
    for (Operation& op : llvm::make_early_inc_range(*body_)) {
      if (isa<tgpu::WgmmaOp>(op)) started.push_back(&op);
      auto wait = dyn_cast<tgpu::WgmmaWaitOp>(op);
      if (!wait) continue;
      size_t index = llvm::find(started, wait.getAcc().getDefiningOp()) - started.begin();
      done = std::max(done, index + 1);
      wait.setPending(started.size() - done);
      for (auto& [ring, reads] : rings_) {
        size_t last = llvm::find(started, lastReader(ring)) - started.begin();
        if (!reads.isCopied() && last < done && !doneAt.count(ring)) doneAt.insert({ring, wait});
      }
    }
    for (auto& [ring, wait] : doneAt) {
      Reads& reads = rings_[ring];
      Operation* behind = reads.advance->isBeforeInBlock(wait) ? wait : reads.advance.getOperation();
      reads.release->moveAfter(behind);
    }
  }

  // What a sum begins with is computed before the products that are under way when its own starts: ptxas waits for these where other
  // accumulators are written beside them.
  void prepareSums() {
    Operation* underWay = nullptr;
    for (Operation& op : llvm::make_early_inc_range(*body_)) {
      if (auto wait = dyn_cast<tgpu::WgmmaWaitOp>(op); wait && wait.getPending() == 0) underWay = nullptr;
      auto product = dyn_cast<tgpu::WgmmaOp>(op);
      if (!product) continue;
      if (!underWay)
        underWay = &op;
      else if (!analysis::isZero(product.getAcc()))
        beginBefore(underWay, product);
    }
  }

  void beginBefore(Operation* place, tgpu::WgmmaOp product) {
    Operation* begin = product.getAcc().getDefiningOp();
    if (!begin || isa<tgpu::WgmmaOp, tgpu::WgmmaWaitOp>(begin)) return;
    llvm::SetVector<Operation*> needed;
    auto add = [&](Value v) {
      Operation* op = v.getDefiningOp();
      if (op && op->getBlock() == body_ && place->isBeforeInBlock(op)) needed.insert(op);
    };
    add(product.getAcc());
    for (size_t i = 0; i < needed.size(); ++i) llvm::for_each(needed[i]->getOperands(), add);
    auto stays = [](Operation* op) { return !isMemoryEffectFree(op) || op->getNumRegions(); };
    if (llvm::any_of(needed, stays)) return;
    SmallVector<Operation*> ops(needed.getArrayRef());
    llvm::sort(ops, [](Operation* a, Operation* b) { return a->isBeforeInBlock(b); });
    for (Operation* op : ops) op->moveBefore(place);
    // Nothing is under way here: the wait only says that the registers are written.
    OpBuilder builder(place);
    auto written = tgpu::WgmmaWaitOp::create(builder, place->getLoc(), product.getAcc(), builder.getI32IntegerAttr(0));
    product.getAccMutable().assign(written.getResult());
  }

  scf::ForOp loop_;
  Block* body_;
  llvm::MapVector<Operation*, tgpu::WgmmaWaitOp> waits_;  // each product's, or that of the one that adds to it
  llvm::MapVector<Value, Reads> rings_;
  Operation* last_ = nullptr;  // of what has been moved to the body's begin
};

// A loop may wait for each of its products and use the result before it starts the next one; its warpgroup's tensor cores
// are idle meanwhile. Two such warpgroups start their products in turn, so that one uses its results while the other one's
// products are computed. A loop with one product an iteration does not: that takes no longer than a turn costs.
void takeTurns(scf::ForOp loop) {
  auto products = loop.getBody()->getOps<tgpu::WgmmaOp>();
  auto isOwn = [](tgpu::WgmmaOp op) {
    return analysis::isZero(op.getAcc()) && op.getLhsRing() && op.getRhsRing() && !op.getTakesTurn() &&
           !op.getLhsRing().getDefiningOp<tgpu::CopyRingOp>() && !op.getRhsRing().getDefiningOp<tgpu::CopyRingOp>();
  };
  if (!loop->getParentOfType<tgpu::WarpSpecializeOp>() || !llvm::all_of(products, isOwn)) return;
  SmallVector<std::pair<tgpu::WgmmaOp, tgpu::WgmmaOp>> turns;  // the first and the last that start together
  bool haveStarted = false;
  for (Operation& op : *loop.getBody()) {
    if (auto product = dyn_cast<tgpu::WgmmaOp>(op)) {
      if (!haveStarted) turns.emplace_back(product, product);
      turns.back().second = product;
    }
    haveStarted = isa<tgpu::WgmmaOp>(op) || (haveStarted && !isa<tgpu::WgmmaWaitOp>(op));
  }
  if (turns.size() < 2) return;
  for (auto& [first, last] : turns) {
    first.setTakesTurn(true);
    last.setGivesTurn(true);
  }
}

bool isScalars(ValueRange values) { return llvm::none_of(values.getTypes(), llvm::IsaPred<RankedTensorType>); }

// Scalars that are computed before `op`, in whose loop products run, and used only behind it, are computed behind it:
// integers that a load gives would otherwise be waited for before the first product, and be kept during all of them.
void postpone(Operation* op) {
  Block* block = op->getBlock();
  auto isBehind = [&](Operation* user) { return op->isBeforeInBlock(block->findAncestorOpInBlock(*user)); };
  for (Operation* before = op->getPrevNode(); before;) {
    Operation* candidate = std::exchange(before, before->getPrevNode());
    bool moves = isMemoryEffectFree(candidate) && !candidate->getNumRegions() && !candidate->use_empty() &&
                 !candidate->hasTrait<OpTrait::ConstantLike>() && isScalars(candidate->getOperands()) &&
                 isScalars(candidate->getResults()) && llvm::all_of(candidate->getUsers(), isBehind);
    if (moves) candidate->moveAfter(op);
  }
}

struct ScheduleProducts : impl::ScheduleProductsBase<ScheduleProducts> {
  using Base::Base;
  void runOnOperation() override {
    getOperation().walk([](scf::ForOp loop) {
      Schedule(loop).apply();
      takeTurns(loop);
    });
    getOperation().walk([](scf::ForOp loop) {
      if (loop.getBody()->getOps<tgpu::WgmmaOp>().empty()) return;
      postpone(loop);
      if (auto runs = dyn_cast<scf::IfOp>(loop->getParentOp())) postpone(runs);
    });
  }
};

}  // namespace
}  // namespace tandem::transform::nvidia
