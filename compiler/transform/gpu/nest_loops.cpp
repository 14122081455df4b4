// The pass matches the loop's counter, then the branches where the count begins and ends, and builds both loops anew.
#include "compiler/dialect/tile/tile.h"
#include "compiler/transform/gpu/count_loops.h"
#include "compiler/transform/gpu/passes.h"
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/IR/IRMapping.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>
#include <mlir/Transforms/RegionUtils.h>
#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/SetVector.h>
#include <optional>

namespace tandem::transform::gpu {
using namespace mlir;
#define GEN_PASS_DEF_NESTLOOPS
#include "compiler/transform/gpu/passes.h.inc"
namespace {

bool isNumber(Value value, int64_t number) { return getConstantIntValue(value) == number; }

// Returns what `comparison` compares `value` with for equality; null: it does not.
Value equalTo(Value comparison, Value value) {
  auto compare = comparison.getDefiningOp<arith::CmpIOp>();
  if (!compare || compare.getPredicate() != arith::CmpIPredicate::eq) return nullptr;
  if (compare.getLhs() == value) return compare.getRhs();
  return compare.getRhs() == value ? compare.getLhs() : Value();
}

bool onlyReads(Operation* op) {
  auto effects = getEffectsRecursively(op);
  return effects && llvm::all_of(*effects, [](const MemoryEffects::EffectInstance& effect) {
           return isa<MemoryEffects::Read>(effect.getEffect());
         });
}

class Nesting {
 public:
  // Returns nothing if the loop is no such loop.
  static std::optional<Nesting> find(scf::ForOp loop) {
    Nesting n(loop);
    if (!n.matchCounter() || !n.matchBranches() || !n.matchHead() || !n.matchTail()) return std::nullopt;
    return n;
  }

  void apply() {
    OpBuilder b(loop_);
    Location loc = loop_.getLoc();
    Value zero = constant(b, 0), one = constant(b, 1);
    Value some = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, steps_, zero);
    Value from = zero, to = arith::SelectOp::create(b, loc, some, rounds_, zero), by = one;
    arith::AddIOp place = stepped();
    if (place) {
      by = constant(b, *getConstantIntValue(place.getRhs()));
      Value init = loop_.getInitArgs()[cast<BlockArgument>(place.getLhs()).getArgNumber() - 1];
      from = arith::AddIOp::create(b, loc, init, by);
      to = arith::AddIOp::create(b, loc, from, arith::MulIOp::create(b, loc, to, by));
    }
    auto outer = scf::ForOp::create(b, loc, from, to, by, loop_.getInitArgs());
    OpBuilder in = OpBuilder::atBlockBegin(outer.getBody());
    Value round = arith::SubIOp::create(in, loc, outer.getInductionVar(), from);
    round = arith::DivSIOp::create(in, loc, round, by);
    Value first = arith::MulIOp::create(in, loc, round, steps_);

    IRMapping atBegin = mappingOf(outer, first, zero);
    if (place) atBegin.map(place.getLhs(), arith::SubIOp::create(in, loc, outer.getInductionVar(), by).getResult());
    if (head_) {
      for (Operation& op : llvm::make_range(body_->begin(), Block::iterator(head_)))
        if (&op != now_.getDefiningOp()) in.clone(op, atBegin);
      for (Operation& op : head_.thenBlock()->without_terminator())
        if (&op == place)
          atBegin.map(place.getResult(), outer.getInductionVar());
        else
          in.clone(op, atBegin);
    }
    SmallVector<Value> begun(outer.getRegionIterArgs());
    for (auto [i, value] : begun_) begun[i] = atBegin.lookupOrDefault(value);

    auto inner = scf::ForOp::create(in, loc, zero, steps_, one, begun);
    inner->setDiscardableAttrs(loop_->getDiscardableAttrDictionary());
    fillInner(inner, first, begun);
    finish(in, inner, first, begun);
    loop_.erase();
  }

 private:
  explicit Nesting(scf::ForOp loop) : loop_(loop), body_(loop.getBody()) {}

  Value constant(OpBuilder& b, int64_t number) {
    return arith::ConstantOp::create(b, loop_.getLoc(), b.getIntegerAttr(loop_.getInductionVar().getType(), number));
  }

  Value yielded(unsigned i) { return body_->getTerminator()->getOperand(i); }

  // Finds the carried number that counts, how far it counts, and how often.
  bool matchCounter() {
    if (loop_.getUnsignedCmp() || !isNumber(loop_.getLowerBound(), 0) || !isNumber(loop_.getStep(), 1)) return false;
    if (!loop_.getUpperBound().getType().isInteger() ||
        llvm::any_of(loop_.getResults(), [](Value v) { return !v.use_empty(); }))
      return false;
    return llvm::any_of(loop_.getRegionIterArgs(), [&](BlockArgument argument) { return isCounter(argument); });
  }

  bool isCounter(BlockArgument argument) {
    counter_ = argument.getArgNumber() - 1;
    auto next = yielded(counter_).getDefiningOp<arith::SelectOp>();
    last_ = next ? equalTo(next.getCondition(), argument) : Value();
    auto more = last_ ? next.getFalseValue().getDefiningOp<arith::AddIOp>() : arith::AddIOp();
    if (!more || !isNumber(next.getTrueValue(), 0) || more.getLhs() != argument || !isNumber(more.getRhs(), 1))
      return false;
    Value init = loop_.getInitArgs()[counter_];
    bool beginsBefore = isNumber(init, -1);
    if (!beginsBefore && !isNumber(init, 0)) return false;
    now_ = beginsBefore ? next.getResult() : argument;
    Operation* ending = next.getCondition().getDefiningOp();
    auto isOfCounting = [&](Operation* user) { return user == next || user == more || user == ending; };
    if (beginsBefore && !(llvm::all_of(argument.getUsers(), isOfCounting) && more->hasOneUse() && ending->hasOneUse()))
      return false;
    if (!beginsBefore && !next->hasOneUse()) return false;
    return isProduct();
  }

  // The count's end is one less than its steps, of which the loop does whole runs.
  bool isProduct() {
    auto times = loop_.getUpperBound().getDefiningOp<arith::MulIOp>();
    if (!times) return false;
    bool isFirst = isOneLess(last_, times.getLhs());
    steps_ = isFirst ? times.getLhs() : times.getRhs();
    rounds_ = isFirst ? times.getRhs() : times.getLhs();
    return isFirst || isOneLess(last_, steps_);
  }

  static bool isOneLess(Value less, Value number) {
    if (auto known = getConstantIntValue(number)) return isNumber(less, *known - 1);
    Operation* op = less.getDefiningOp();
    if (!op || !isa<arith::SubIOp, arith::AddIOp>(op) || op->getOperand(0) != number) return false;
    return isNumber(op->getOperand(1), isa<arith::SubIOp>(op) ? 1 : -1);
  }

  // Finds the branches where the count begins and ends. What lies before the first and behind the second is computed,
  // and only the branches write.
  bool matchBranches() {
    for (auto branch : body_->getOps<scf::IfOp>()) {
      Value number = equalTo(branch.getCondition(), now_);
      if (!number) continue;
      scf::IfOp& place = number == last_ ? tail_ : head_;
      if (number != last_ && !isNumber(number, 0)) continue;
      if (place || (number != last_ && tail_)) return false;
      place = branch;
    }
    if (!head_ && !tail_) return false;
    bool multiplies = false;
    for (Operation& op : body_->without_terminator()) {
      if (&op == head_ || &op == tail_) continue;
      bool isInside = (!head_ || head_->isBeforeInBlock(&op)) && (!tail_ || op.isBeforeInBlock(tail_));
      if (isInside ? !onlyReads(&op) : !isMemoryEffectFree(&op)) return false;
      multiplies |= isa<tile::DotOp>(op);
    }
    return multiplies;
  }

  // Each result of the first branch is what the loop carries, begun again: for good (it is kept until the next count),
  // or for the other ops of the iteration, which change it.
  bool matchHead() {
    if (!head_) return true;
    if (head_.elseBlock() && !llvm::hasSingleElement(*head_.elseBlock())) return false;
    for (auto [result, value, before] :
         llvm::zip(head_.getResults(), resultsOf(head_.thenBlock()), resultsOf(head_.elseBlock()))) {
      auto argument = dyn_cast<BlockArgument>(before);
      if (!argument || argument.getOwner() != body_ || argument == loop_.getInductionVar()) return false;
      unsigned i = argument.getArgNumber() - 1;
      auto inHead = [&](Operation* user) { return head_->isProperAncestor(user); };
      if (i == counter_ || !begun_.insert({i, value}).second || !llvm::all_of(argument.getUsers(), inHead))
        return false;
      carriedBy_[result] = i;
    }
    return true;
  }

  bool matchTail() {
    if (!tail_) return true;
    if (tail_.elseBlock() && !llvm::hasSingleElement(*tail_.elseBlock())) return false;
    for (OpResult result : tail_.getResults())
      if (!llvm::all_of(result.getUsers(), [&](Operation* user) { return user == body_->getTerminator(); }))
        return false;
    llvm::SetVector<Value> used;
    getUsedValuesDefinedAbove(tail_->getRegions(), used);
    return llvm::all_of(used, [&](Value value) { return isKnownBehind(value); });
  }

  // Returns true if the inner loop's results give the value that `value` has in the last iteration of a count.
  bool isKnownBehind(Value value) {
    if (value.getParentRegion() != &loop_.getRegion() || value == now_ || value == loop_.getInductionVar()) return true;
    if (carriedBy_.contains(value) && yielded(carriedBy_[value]) == value) return true;
    for (unsigned i = 0; i < loop_.getNumRegionIterArgs(); ++i)
      if (i != counter_ && innerYield(i) == value) return true;
    Operation* op = value.getDefiningOp();
    return op && !op->getNumRegions() && isMemoryEffectFree(op) &&
           llvm::all_of(op->getOperands(), [&](Value operand) { return isKnownBehind(operand); });
  }

  static ValueRange resultsOf(Block* block) { return block ? block->getTerminator()->getOperands() : ValueRange(); }

  // Returns what an iteration passes on where the count does not end.
  Value innerYield(unsigned i) {
    Value value = yielded(i);
    if (!tail_ || value.getDefiningOp() != tail_) return value;
    return resultsOf(tail_.elseBlock())[cast<OpResult>(value).getResultNumber()];
  }

  IRMapping mappingOf(scf::ForOp loop, Value index, Value count) {
    IRMapping mapping;
    mapping.map(loop_.getInductionVar(), index);
    for (auto [argument, now] : llvm::zip(loop_.getRegionIterArgs(), loop.getRegionIterArgs()))
      mapping.map(argument, now);
    mapping.map(now_, count);
    return mapping;
  }

  // Returns what makes a number that goes on by a constant with each count, as a tile's does: the outer loop counts by it, so that later
  // passes know where it begins. Null: there is none.
  arith::AddIOp stepped() {
    for (auto [i, value] : begun_) {
      auto add = value.getDefiningOp<arith::AddIOp>();
      std::optional<int64_t> by = add ? getConstantIntValue(add.getRhs()) : std::nullopt;
      if (by && *by > 0 && isKept(i) && add.getLhs() == loop_.getRegionIterArg(i) &&
          add->getBlock() == head_.thenBlock() && add.getType() == loop_.getInductionVar().getType())
        return add;
    }
    return nullptr;
  }

  bool isKept(unsigned i) {
    auto it = carriedBy_.find(yielded(i));
    return it != carriedBy_.end() && it->second == i;
  }

  void fillInner(scf::ForOp inner, Value first, ArrayRef<Value> begun) {
    OpBuilder b = OpBuilder::atBlockBegin(inner.getBody());
    Value count = inner.getInductionVar();
    IRMapping mapping = mappingOf(inner, arith::AddIOp::create(b, loop_.getLoc(), first, count), count);
    for (auto [result, i] : carriedBy_) mapping.map(result, isKept(i) ? begun[i] : inner.getRegionIterArg(i));
    for (Operation& op : body_->without_terminator())
      if (&op != head_ && &op != tail_ && &op != now_.getDefiningOp()) b.clone(op, mapping);
    SmallVector<Value> out;
    for (unsigned i = 0; i < inner.getNumRegionIterArgs(); ++i)
      out.push_back(isKept(i) || i == counter_ ? inner.getRegionIterArg(i) : mapping.lookupOrDefault(innerYield(i)));
    scf::YieldOp::create(b, loop_.getLoc(), out);
  }

  void finish(OpBuilder& b, scf::ForOp inner, Value first, ArrayRef<Value> begun) {
    Location loc = loop_.getLoc();
    Value last = arith::SubIOp::create(b, loc, steps_, constant(b, 1));
    IRMapping mapping;
    mapping.map(now_, last);
    mapping.map(loop_.getInductionVar(), arith::AddIOp::create(b, loc, first, last));
    for (auto [result, i] : carriedBy_)
      if (isKept(i)) mapping.map(result, begun[i]);
    SmallVector<Value> out(inner.getResults());
    for (unsigned i = 0; i < out.size(); ++i)
      if (isKept(i))
        out[i] = begun[i];
      else if (i != counter_)
        mapping.map(innerYield(i), out[i]);
    if (tail_) {
      llvm::SetVector<Value> used;
      getUsedValuesDefinedAbove(tail_->getRegions(), used);
      for (Value value : used) bring(b, value, mapping);
      for (Operation& op : tail_.thenBlock()->without_terminator()) b.clone(op, mapping);
      for (unsigned i = 0; i < out.size(); ++i)
        if (auto result = dyn_cast<OpResult>(yielded(i)); result && result.getOwner() == tail_)
          out[i] = mapping.lookupOrDefault(resultsOf(tail_.thenBlock())[result.getResultNumber()]);
    }
    scf::YieldOp::create(b, loc, out);
  }

  // Computes `value` as it is in the last iteration of a count.
  void bring(OpBuilder& b, Value value, IRMapping& mapping) {
    if (value.getParentRegion() != &loop_.getRegion() || mapping.contains(value)) return;
    for (Value operand : value.getDefiningOp()->getOperands()) bring(b, operand, mapping);
    b.clone(*value.getDefiningOp(), mapping);
  }

  scf::ForOp loop_;
  Block* body_;
  unsigned counter_ = 0;               // among the loop's carried values
  Value now_, last_, steps_, rounds_;  // the count in an iteration, its end, how far and how often it counts
  scf::IfOp head_, tail_;              // where the count begins and ends; null: nothing happens there
  llvm::SmallMapVector<unsigned, Value, 4> begun_;      // what the first branch makes of carried values
  llvm::SmallMapVector<Value, unsigned, 4> carriedBy_;  // the first branch's results: which carried values they are
};

struct NestLoops : impl::NestLoopsBase<NestLoops> {
  using Base::Base;
  void runOnOperation() override {
    bool changed = false;
    getOperation().walk([&](scf::WhileOp loop) {
      bool multiplies = loop.walk([](tile::DotOp) { return WalkResult::interrupt(); }).wasInterrupted();
      changed |= multiplies && countLoop(loop);
    });
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      if (std::optional<Nesting> nesting = Nesting::find(loop)) {
        nesting->apply();
        changed = true;
      }
    cleanUp(changed);
  }
};

}  // namespace
}  // namespace tandem::transform::gpu
