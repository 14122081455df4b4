// A loop that deals tiles out becomes a program for each tile.
#include "compiler/dialect/dist/dist.h"
#include "compiler/remark/remark.h"
#include "compiler/transform/gpu/counting.h"
#include "compiler/transform/gpu/passes.h"
#include "compiler/transform/gpu/program_order.h"
#include "compiler/transform/gpu/travelling.h"
#include "compiler/transform/gpu/waits.h"
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tandem::transform::gpu {
using namespace mlir;
#define GEN_PASS_DEF_SPREADPROGRAMS
#include "compiler/transform/gpu/passes.h.inc"
namespace {

constexpr remark::Source kRemarks{remark::RemarkKind::Load, "spread-programs"};

bool areEqual(Value a, Value b) {
  std::optional<int64_t> left = getConstantIntValue(a), right = getConstantIntValue(b);
  return a == b || (left && left == right);
}

// The one loop of the kernel, around all that it does, which goes from the program's number on by the number of programs.
class Dealer {
 public:
  static std::optional<Dealer> find(func::FuncOp kernel) {
    if (mayWaitForOthers(kernel, unreadUpdates(kernel))) return std::nullopt;  // which count on running at once
    Dealer dealer(kernel);
    if (!dealer.matchLoop() || !dealer.matchCarried() || !dealer.matchNumbers()) return std::nullopt;
    return dealer;
  }

  // How many tiles there are, if the programs of the launch deal all of them out; else 0.
  Value tiles(OpBuilder& builder) {
    Location where = loop_.getLoc();
    Value zero = arith::ConstantIntOp::create(builder, where, 0, 32);
    Value one = arith::ConstantIntOp::create(builder, where, 1, 32), areAll;
    for (unsigned axis = 0; axis < 3; ++axis) {  // more along another axis would have the same tiles
      Value programs = tile::NumProgramsOp::create(builder, where, axis), as = axis ? one : loop_.getStep();
      Value areSo = arith::CmpIOp::create(builder, where, arith::CmpIPredicate::eq, programs, as);
      areAll = areAll ? arith::AndIOp::create(builder, where, areAll, areSo).getResult() : areSo;
    }
    Value tiles = arith::MaxSIOp::create(builder, where, loop_.getUpperBound(), zero);
    return arith::SelectOp::create(builder, where, areAll, tiles, zero);
  }

  scf::ForOp loop() { return loop_; }

  void spread() {
    remark::passed(loop_, kRemarks, "each tile that this loop deals out is a program's");
    OpBuilder builder(loop_);
    Value tile = tile::ProgramIdOp::create(builder, loop_.getLoc(), 0);
    for (auto [carried, init] : llvm::zip(loop_.getRegionIterArgs(), loop_.getInitArgs()))
      carried.replaceAllUsesWith(numberBehind(builder, init, tile));
    loop_.getInductionVar().replaceAllUsesWith(tile);
    Operation* end = loop_.getBody()->getTerminator();
    loop_->getBlock()->getOperations().splice(Block::iterator(loop_), loop_.getBody()->getOperations(),
                                              loop_.getBody()->begin(), Block::iterator(end));
    loop_.erase();
  }

 private:
  explicit Dealer(func::FuncOp kernel) : kernel_(kernel) {}

  bool matchLoop() {
    for (Operation& op : kernel_.getBody().front().without_terminator()) {
      auto loop = dyn_cast<scf::ForOp>(op);
      auto id = loop ? loop.getLowerBound().getDefiningOp<tile::ProgramIdOp>() : tile::ProgramIdOp();
      if (id) {
        if (loop_ || id.getAxis() != 0) return false;
        loop_ = loop;
        id_ = id;
      } else if (!isMemoryEffectFree(&op) && !hasSingleEffect<MemoryEffects::Read>(&op)) {
        return false;
      }
    }
    return loop_ && loop_.getInductionVar().getType().isInteger(32) && areFixed({loop_.getUpperBound()}) &&
           llvm::all_of(loop_.getResults(), [](Value result) { return result.use_empty(); });
  }

  // The loop carries a number that is the tile's but for a constant distance: both grow by the same step.
  bool matchCarried() {
    auto yields = loop_.getBody()->getTerminator()->getOperands();
    for (auto [carried, init, yielded] : llvm::zip(loop_.getRegionIterArgs(), loop_.getInitArgs(), yields)) {
      auto next = yielded.getDefiningOp<arith::AddIOp>();
      bool grows = next && ((next.getLhs() == carried && areEqual(next.getRhs(), loop_.getStep())) ||
                            (next.getRhs() == carried && areEqual(next.getLhs(), loop_.getStep())));
      if (!grows || !beginsAtNumber(init)) return false;
      if (init != id_.getResult()) made_.insert(init.getDefiningOp());
    }
    return true;
  }

  bool beginsAtNumber(Value init) {
    if (init == id_.getResult()) return true;
    Operation* op = init.getDefiningOp();
    return op && isa<arith::AddIOp, arith::SubIOp>(op) && op->getOperand(0) == id_.getResult() &&
           op->getOperand(1) != id_.getResult();
  }

  Value numberBehind(OpBuilder& builder, Value init, Value tile) {
    if (init == id_.getResult()) return tile;
    Operation* op = builder.clone(*init.getDefiningOp());
    op->setOperand(0, tile);
    return op->getResult(0);
  }

  // Nothing else knows the program's number, or how many there are, along this axis.
  bool matchNumbers() {
    return !kernel_
                .walk([&](Operation* op) {
                  auto id = dyn_cast<tile::ProgramIdOp>(op);
                  auto count = dyn_cast<tile::NumProgramsOp>(op);
                  if (!(id && id.getAxis() == 0) && !(count && count.getAxis() == 0)) return WalkResult::advance();
                  if (id && id != id_) return WalkResult::interrupt();
                  bool isKnown = llvm::all_of(op->getUsers(), [&](Operation* user) {
                    if (user == loop_.getOperation() || made_.contains(user)) return true;
                    return count && user->getParentOp() == loop_ && isNext(user);
                  });
                  return isKnown ? WalkResult::advance() : WalkResult::interrupt();
                })
                .wasInterrupted();
  }

  bool isNext(Operation* op) {
    return op->getNumResults() == 1 &&
           llvm::is_contained(loop_.getBody()->getTerminator()->getOperands(), op->getResult(0));
  }

  func::FuncOp kernel_;
  scf::ForOp loop_;
  tile::ProgramIdOp id_;
  llvm::DenseSet<Operation*> made_;  // of the program's number: where carried numbers begin
};

// The kernel does nothing but say how many tiles it deals out.
void countTiles(func::FuncOp kernel, std::optional<Dealer> dealer, Value word) {
  OpBuilder builder(kernel.getBody().front().getTerminator());
  if (dealer) builder.setInsertionPoint(dealer->loop());
  Location where = kernel.getLoc();
  Value zero = arith::ConstantIntOp::create(builder, where, 0, 32);
  Value count = dealer ? dealer->tiles(builder) : zero;
  count = arith::ExtSIOp::create(builder, where, builder.getI64Type(), count);
  Value isFirst = arith::CmpIOp::create(builder, where, arith::CmpIPredicate::eq, placeInLaunch(builder, where), zero);
  Signals stores;
  stores.insert(tile::StoreOp::create(builder, where, word, count, isFirst, tile::Cache::None, tile::Evict::Normal));
  keepOnly(stores, kernel);
}

struct SpreadPrograms : impl::SpreadProgramsBase<SpreadPrograms> {
  using Base::Base;
  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    if (opsOf<dist::SpreadOp>(kernel).empty()) return markAllAnalysesPreserved();
    if (countLoops(kernel)) cleanUp(true);
    SmallVector<dist::SpreadOp> spread = opsOf<dist::SpreadOp>(kernel);
    dist::SpreadOp first = spread.front();
    std::optional<Dealer> dealer = Dealer::find(kernel);
    if (Value word = first.getCount()) {
      if (!isa<BlockArgument>(word)) {
        first.emitError("where the number of tiles goes is no argument of the kernel");
        return signalPassFailure();
      }
      countTiles(kernel, dealer, word);
    } else if (!dealer) {
      first.emitError("no loop from the program's number on deals out all that this kernel does");
      return signalPassFailure();
    } else {
      dealer->spread();
    }
    for (dist::SpreadOp op : spread) {
      op.getResult().replaceAllUsesWith(op.getValue());
      op.erase();
    }
    cleanUp(true);
  }
};

}  // namespace
}  // namespace tandem::transform::gpu
