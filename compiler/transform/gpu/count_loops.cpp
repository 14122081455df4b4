// The counted value is the only one that the condition reads. A loop that its step does not bring nearer to the bound never ends, so the
// step's sign is not asked for.
#include "compiler/transform/gpu/count_loops.h"
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/IR/IRMapping.h>
#include <mlir/Transforms/LoopInvariantCodeMotionUtils.h>

namespace tandem::transform::gpu {
using namespace mlir;
namespace {

class Counting {
 public:
  explicit Counting(scf::WhileOp loop) : loop_(loop) {}

  bool match() {
    Block& before = *loop_.getBeforeBody();
    auto condition = loop_.getConditionOp();
    auto compare = condition.getCondition().getDefiningOp<arith::CmpIOp>();
    if (!compare || compare->getBlock() != &before || !llvm::hasSingleElement(before.without_terminator()))
      return false;
    Value less = compare.getLhs(), more = compare.getRhs();
    if (compare.getPredicate() == arith::CmpIPredicate::sgt)
      std::swap(less, more);
    else if (compare.getPredicate() != arith::CmpIPredicate::slt)
      return false;
    down_ = isa<BlockArgument>(more) && more.getParentBlock() == &before;
    counted_ = dyn_cast<BlockArgument>(down_ ? more : less);
    bound_ = down_ ? less : more;
    if (!counted_ || counted_.getOwner() != &before || !loop_.isDefinedOutsideOfLoop(bound_)) return false;
    if (down_ && getConstantIntValue(bound_) != 0) return false;
    if (!counted_.getType().isInteger() || !llvm::all_of(condition.getArgs(), [&](Value v) {
          return v.getParentBlock() == &before ? isa<BlockArgument>(v) : loop_.isDefinedOutsideOfLoop(v);
        }))
      return false;
    return matchStep();
  }

  void apply() {
    OpBuilder b(loop_);
    Location loc = loop_.getLoc();
    Value init = loop_.getInits()[counted_.getArgNumber()], first = init, end = bound_;
    if (down_) std::swap(first, end);  // from zero as far as the first value is
    auto loop = scf::ForOp::create(b, loc, first, end, step_, loop_.getInits());
    loop->setDiscardableAttrs(loop_->getDiscardableAttrDictionary());
    OpBuilder in = OpBuilder::atBlockBegin(loop.getBody());
    Value now = loop.getInductionVar();
    if (down_) now = arith::SubIOp::create(in, loc, init, now);
    IRMapping mapping;
    for (auto [passed, argument] : llvm::zip(loop_.getConditionOp().getArgs(), loop_.getAfterArguments()))
      mapping.map(argument, passed == counted_ ? now : carried(passed, loop.getRegionIterArgs()));
    for (Operation& op : loop_.getAfterBody()->without_terminator()) in.clone(op, mapping);
    SmallVector<Value> yielded;
    for (Value value : loop_.getYieldOp().getOperands()) yielded.push_back(mapping.lookupOrDefault(value));
    scf::YieldOp::create(in, loc, yielded);
    for (auto [passed, result] : llvm::zip(loop_.getConditionOp().getArgs(), loop_.getResults()))
      result.replaceAllUsesWith(carried(passed, loop.getResults()));
    loop_.erase();
  }

 private:
  // Finds what an iteration adds to the counted value, or takes from it.
  bool matchStep() {
    Operation* next = loop_.getYieldOp().getOperand(counted_.getArgNumber()).getDefiningOp();
    if (!next || next->getBlock() != loop_.getAfterBody() || !isa<arith::AddIOp, arith::SubIOp>(next)) return false;
    auto isCounted = [&](Value v) {
      auto argument = dyn_cast<BlockArgument>(v);
      return argument && argument.getOwner() == loop_.getAfterBody() &&
             loop_.getConditionOp().getArgs()[argument.getArgNumber()] == counted_;
    };
    Value other = next->getOperand(1);
    if (isa<arith::AddIOp>(next) && isCounted(other)) other = next->getOperand(0);
    if (!isCounted(next->getOperand(other == next->getOperand(0) ? 1 : 0)) || !loop_.isDefinedOutsideOfLoop(other))
      return false;
    step_ = other;
    if (isa<arith::SubIOp>(next) == down_) return true;
    std::optional<int64_t> number = getConstantIntValue(other);  // subtractions of constants are additions
    if (!down_ || !number || *number >= 0) return false;
    OpBuilder b(loop_);
    step_ = arith::ConstantOp::create(b, loop_.getLoc(), b.getIntegerAttr(other.getType(), -*number));
    return true;
  }

  // A value that the condition passes on is a carried one, or none of the loop's.
  Value carried(Value passed, ValueRange now) {
    auto argument = dyn_cast<BlockArgument>(passed);
    bool isOfLoop = argument && argument.getOwner() == loop_.getBeforeBody();
    return isOfLoop ? now[argument.getArgNumber()] : passed;
  }

  scf::WhileOp loop_;
  BlockArgument counted_;
  Value bound_, step_;
  bool down_ = false;
};

}  // namespace

bool countLoop(scf::WhileOp loop) {
  moveLoopInvariantCode(cast<LoopLikeOpInterface>(loop.getOperation()));
  Counting counting(loop);
  if (!counting.match()) return false;
  counting.apply();
  return true;
}

}  // namespace tandem::transform::gpu
