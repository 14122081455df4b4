// A backward slice through loops, then a copy of it.
#include "compiler/transform/nvidia/producer.h"
#include "compiler/dialect/dist/dist.h"
#include "compiler/transform/gpu/accesses.h"
#include "compiler/transform/gpu/layout_rules.h"
#include "compiler/transform/gpu/thread_dependence.h"
#include "compiler/transform/gpu/waits.h"
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Interfaces/LoopLikeInterface.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tandem::transform::nvidia {
using namespace mlir;
using namespace gpu;
namespace {

bool hasTiles(Operation* op) {
  auto isTile = [](Type t) { return isa<RankedTensorType>(t); };
  return llvm::any_of(op->getResultTypes(), isTile) || llvm::any_of(op->getOperandTypes(), isTile);
}

// Returns true if each thread can compute its elements of the tiles without the others.
bool isOfThreads(Operation* op) {
  return (isa<tile::MakeRangeOp, tile::SplatOp, tile::ExpandDimsOp, tile::BroadcastOp, tile::LoadOp>(op) ||
          isSameLayout(op)) &&
         !isa<tile::ScanOp, tile::MapElementwiseOp>(op) && !op->getNumRegions();
}

// Returns true if another thread may execute `op` as well, at a time of its own. A signal's value may be another one
// then.
bool mayHappenTwice(Operation* op) {
  if (isMemoryEffectFree(op) || isa<dist::WaitOp>(op)) return true;
  if (auto wait = dyn_cast<dist::SignalWaitOp>(op))
    return wait.getResult().use_empty() || wait.getCompare() == dist::Compare::Eq;
  if (isa<tile::InlineAsmOp>(op)) return isWait(op) && op->getNumOperands() == 0;  // kernels before end once for all
  auto load = dyn_cast<tile::LoadOp>(op);
  return load && !load.getIsVolatile() && !isWritten(load);
}

class Slice {
 public:
  Slice(Block& body, ArrayRef<Operation*> roots, ArrayRef<Operation*> places, bool ofThreads)
      : body_(body), roots_(roots.begin(), roots.end()), places_(places.begin(), places.end()), ofThreads_(ofThreads) {}

  std::optional<Needed> find() {
    for (Operation* root : roots_) needOp(root);
    for (Operation* place : places_) needOp(place);
    while (!todo_.empty() && sound_) visit(todo_.pop_back_val());
    if (!sound_) return std::nullopt;
    return std::move(needed_);
  }

 private:
  void needOp(Operation* op) {
    if (needed_.ops.insert(op)) todo_.push_back(op);
  }

  void visit(Operation* op) {
    Operation* parent = op->getParentOp();
    if (op->getBlock() != &body_) needOp(parent);
    if (auto loop = dyn_cast<scf::WhileOp>(op)) return needValue(loop.getConditionOp().getCondition());
    if (isa<scf::ForOp, scf::IfOp>(op)) {
      // Bounds or condition now; carried values when something uses them.
      for (Value v : op->getOperands().take_front(isa<scf::ForOp>(op) ? 3 : 1)) needValue(v);
      return;
    }
    if (places_.contains(op)) return;
    bool isRoot = llvm::is_contained(roots_, op);
    if (!isRoot && isTold(op)) {
      needed_.told.insert(op);
      return;
    }
    bool mayHaveTiles = isRoot || (ofThreads_ && isOfThreads(op));
    if (op->getNumRegions() || (!mayHaveTiles && hasTiles(op)) || ((!isRoot || isWait(op)) && !mayHappenTwice(op))) {
      sound_ = false;
      return;
    }
    for (Value v : op->getOperands())
      if (ofThreads_ || !isa<RankedTensorType>(v.getType())) needValue(v);
  }

  // Returns true if the consumers can tell the producer what `op` gives: numbers that take all threads, or that only one
  // of both may take from memory, such as a ticket.
  bool isTold(Operation* op) const {
    bool takesTiles = hasTiles(op) && isMemoryEffectFree(op);
    bool takesTurn = isa<tile::AtomicRmwOp, tile::AtomicCasOp, tile::LoadOp>(op) && !mayHappenTwice(op) &&
                     !isPerThread(cast<func::FuncOp>(body_.getParentOp()));
    auto isNumber = [](Type t) { return t.isIntOrIndexOrFloat(); };
    return (takesTiles || takesTurn) && llvm::all_of(op->getResultTypes(), isNumber) && !isBesideCopies(op);
  }

  // Returns true if each iteration of a loop that copies tiles would be told: then the producer would never be ahead.
  bool isBesideCopies(Operation* op) const {
    auto loop = op->getParentOfType<LoopLikeOpInterface>();
    auto isIn = [&](Operation* root) { return root->getParentOfType<LoopLikeOpInterface>() == loop; };
    auto isDeeper = [&](Operation* root) { return loop->isProperAncestor(root) && !isIn(root); };
    return loop && llvm::any_of(roots_, isIn) && llvm::none_of(roots_, isDeeper);
  }

  void needValue(Value v) {
    if (auto argument = dyn_cast<BlockArgument>(v)) {
      if (auto loop = dyn_cast<scf::WhileOp>(argument.getOwner()->getParentOp())) return needOfWhile(loop, argument);
      auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
      if (!loop) return;
      needOp(loop);
      if (argument.getArgNumber() > 0) needCarried(loop, argument.getArgNumber() - 1);
      return;
    }
    auto result = cast<OpResult>(v);
    if (places_.contains(result.getOwner())) {  // it is passed, not done again
      sound_ &= isTold(result.getOwner());
      needed_.told.insert(result.getOwner());
    }
    needOp(result.getOwner());
    if (auto loop = dyn_cast<scf::WhileOp>(result.getOwner())) needPassed(loop, result.getResultNumber());
    if (auto loop = dyn_cast<scf::ForOp>(result.getOwner())) needCarried(loop, result.getResultNumber());
    if (auto branch = dyn_cast<scf::IfOp>(result.getOwner())) needChosen(branch, result.getResultNumber());
  }

  void needChosen(scf::IfOp branch, unsigned index) {
    if (isa<RankedTensorType>(branch.getResult(index).getType())) {
      sound_ = false;
      return;
    }
    if (!needed_.carried.insert(branch.getResult(index)).second) return;
    needValue(branch.thenYield().getOperand(index));
    needValue(branch.elseYield().getOperand(index));
  }

  void needOfWhile(scf::WhileOp loop, BlockArgument argument) {
    needOp(loop);
    unsigned index = argument.getArgNumber();
    if (argument.getOwner() == loop.getAfterBody()) return needPassed(loop, index);
    if (isa<RankedTensorType>(argument.getType())) {
      sound_ = false;
      return;
    }
    if (!needed_.carried.insert(argument).second) return;
    needValue(loop.getInits()[index]);
    needValue(loop.getYieldOp().getOperand(index));
  }

  // Needs the value that the condition passes on to the body and, when the loop ends, to the ops behind it.
  void needPassed(scf::WhileOp loop, unsigned index) {
    if (isa<RankedTensorType>(loop.getResult(index).getType())) {
      sound_ = false;
      return;
    }
    if (needed_.carried.insert(loop.getResult(index)).second) needValue(loop.getConditionOp().getArgs()[index]);
  }

  void needCarried(scf::ForOp loop, unsigned index) {
    if (!ofThreads_ && isa<RankedTensorType>(loop.getResult(index).getType())) {
      sound_ = false;
      return;
    }
    if (!needed_.carried.insert(loop.getResult(index)).second) return;
    needValue(loop.getInitArgs()[index]);
    needValue(loop.getYieldedValues()[index]);
  }

  Block& body_;
  SmallVector<Operation*> roots_, todo_;
  llvm::SetVector<Operation*> places_;
  bool ofThreads_;
  Needed needed_;
  bool sound_ = true;
};

class Copy {
 public:
  using CopyRoot = llvm::function_ref<bool(Operation*, OpBuilder&, IRMapping&)>;
  Copy(const Needed& needed, IRMapping& mapping, CopyRoot copyRoot)
      : needed_(needed), mapping_(mapping), copyRoot_(copyRoot) {}

  void block(Block& from, OpBuilder& builder) {
    for (Operation& op : from) {
      if (!needed_.ops.contains(&op) || copyRoot_(&op, builder, mapping_)) continue;
      if (auto loop = dyn_cast<scf::ForOp>(op))
        copyLoop(loop, builder);
      else if (auto loop = dyn_cast<scf::WhileOp>(op))
        copyWhile(loop, builder);
      else if (auto branch = dyn_cast<scf::IfOp>(op))
        copyBranch(branch, builder);
      else
        builder.clone(op, mapping_);
    }
  }

 private:
  void copyLoop(scf::ForOp loop, OpBuilder& builder) {
    SmallVector<unsigned> kept;
    SmallVector<Value> inits;
    for (auto [i, init] : llvm::enumerate(loop.getInitArgs())) {
      if (!needed_.carried.contains(loop.getResult(i))) continue;
      kept.push_back(i);
      inits.push_back(mapping_.lookupOrDefault(init));
    }
    auto copy = scf::ForOp::create(builder, loop.getLoc(), mapping_.lookupOrDefault(loop.getLowerBound()),
                                   mapping_.lookupOrDefault(loop.getUpperBound()),
                                   mapping_.lookupOrDefault(loop.getStep()), inits);
    mapping_.map(loop.getInductionVar(), copy.getInductionVar());
    for (auto [k, i] : llvm::enumerate(kept)) {
      mapping_.map(loop.getRegionIterArg(i), copy.getRegionIterArg(k));
      mapping_.map(loop.getResult(i), copy.getResult(k));
    }
    OpBuilder inside = OpBuilder::atBlockBegin(copy.getBody());
    if (kept.empty()) inside.setInsertionPoint(copy.getBody()->getTerminator());
    block(*loop.getBody(), inside);
    if (kept.empty()) return;
    SmallVector<Value> yielded;
    for (unsigned i : kept) yielded.push_back(mapping_.lookupOrDefault(loop.getYieldedValues()[i]));
    scf::YieldOp::create(inside, loop.getLoc(), yielded);
  }

  void copyWhile(scf::WhileOp loop, OpBuilder& builder) {
    SmallVector<unsigned> kept, passed;
    for (BlockArgument argument : loop.getBeforeArguments())
      if (needed_.carried.contains(argument)) kept.push_back(argument.getArgNumber());
    for (OpResult result : loop->getResults())
      if (needed_.carried.contains(result)) passed.push_back(result.getResultNumber());
    auto inits = llvm::map_to_vector(kept, [&](unsigned i) { return mapping_.lookupOrDefault(loop.getInits()[i]); });
    auto types = llvm::map_to_vector(passed, [&](unsigned i) { return loop.getResult(i).getType(); });
    auto copy = scf::WhileOp::create(builder, loop.getLoc(), types, inits);
    auto enter = [&](Region& region, Block& from, ArrayRef<unsigned> arguments) {
      Block& to = region.emplaceBlock();
      for (unsigned i : arguments)
        mapping_.map(from.getArgument(i), to.addArgument(from.getArgument(i).getType(), loop.getLoc()));
      OpBuilder inside = OpBuilder::atBlockEnd(&to);
      block(from, inside);
      return inside;
    };
    auto mapped = [&](ValueRange values, ArrayRef<unsigned> which) {
      return llvm::map_to_vector(which, [&](unsigned i) { return mapping_.lookupOrDefault(values[i]); });
    };
    OpBuilder before = enter(copy.getBefore(), *loop.getBeforeBody(), kept);
    scf::ConditionOp test = loop.getConditionOp();
    scf::ConditionOp::create(before, test.getLoc(), mapping_.lookupOrDefault(test.getCondition()),
                             mapped(test.getArgs(), passed));
    OpBuilder after = enter(copy.getAfter(), *loop.getAfterBody(), passed);
    scf::YieldOp::create(after, loop.getYieldOp().getLoc(), mapped(loop.getYieldOp().getOperands(), kept));
    for (auto [k, i] : llvm::enumerate(passed)) mapping_.map(loop.getResult(i), copy.getResult(k));
  }

  void copyBranch(scf::IfOp branch, OpBuilder& builder) {
    SmallVector<unsigned> kept;
    for (Value result : branch.getResults())
      if (needed_.carried.contains(result)) kept.push_back(cast<OpResult>(result).getResultNumber());
    auto types = llvm::map_to_vector(kept, [&](unsigned i) { return branch.getResult(i).getType(); });
    bool hasElse = !branch.getElseRegion().empty();
    auto copy =
        scf::IfOp::create(builder, branch.getLoc(), types, mapping_.lookupOrDefault(branch.getCondition()), hasElse);
    copySide(*branch.thenBlock(), *copy.thenBlock(), kept);
    if (hasElse) copySide(*branch.elseBlock(), *copy.elseBlock(), kept);
    for (auto [k, i] : llvm::enumerate(kept)) mapping_.map(branch.getResult(i), copy.getResult(k));
  }

  void copySide(Block& from, Block& to, ArrayRef<unsigned> kept) {
    OpBuilder inside = kept.empty() ? OpBuilder(to.getTerminator()) : OpBuilder::atBlockBegin(&to);
    block(from, inside);
    if (kept.empty()) return;
    SmallVector<Value> yielded;
    for (unsigned i : kept) yielded.push_back(mapping_.lookupOrDefault(from.getTerminator()->getOperand(i)));
    scf::YieldOp::create(inside, from.getTerminator()->getLoc(), yielded);
  }

  const Needed& needed_;
  IRMapping& mapping_;
  CopyRoot copyRoot_;
};

}  // namespace

std::optional<Needed> neededFor(Block& body, ArrayRef<Operation*> roots, ArrayRef<Operation*> places, bool ofThreads) {
  return Slice(body, roots, places, ofThreads).find();
}

void cloneNeeded(Block& body, const Needed& needed, OpBuilder& builder, IRMapping& mapping,
                 llvm::function_ref<bool(Operation*, OpBuilder&, IRMapping&)> copyRoot) {
  Copy(needed, mapping, copyRoot).block(body, builder);
}

}  // namespace tandem::transform::nvidia
