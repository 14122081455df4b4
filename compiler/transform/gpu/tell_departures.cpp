// Signals behind the stores of memory that leaves, and an order of programs in which the peers' part leaves first.
#include "compiler/dialect/dist/dist.h"
#include "compiler/remark/remark.h"
#include "compiler/transform/gpu/footprint.h"
#include "compiler/transform/gpu/passes.h"
#include "compiler/transform/gpu/program_order.h"
#include "compiler/transform/gpu/waits.h"
#include <llvm/ADT/MapVector.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tandem::transform::gpu {
using namespace mlir;
using analysis::DimAccess;
using analysis::ScalarExpr;
using analysis::StridedAccess;
#define GEN_PASS_DEF_TELLDEPARTURES
#include "compiler/transform/gpu/passes.h.inc"
namespace {

constexpr remark::Source kRemarks{remark::RemarkKind::Load, "tell-departures"};

// Returns true if arguments and the program's number decide the values, so that each run of the kernel gives the same.
bool areFixed(SmallVector<Value> left) {
  llvm::DenseSet<Value> seen;
  while (!left.empty()) {
    Value value = left.pop_back_val();
    if (!seen.insert(value).second) continue;
    auto argument = dyn_cast<BlockArgument>(value);
    Operation* op = argument ? argument.getOwner()->getParentOp() : value.getDefiningOp();
    if (isa<func::FuncOp>(op)) continue;
    unsigned index = argument ? 0 : cast<OpResult>(value).getResultNumber();
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      left.append({loop.getLowerBound(), loop.getUpperBound(), loop.getStep()});
      BlockArgument carried = argument ? argument : loop.getRegionIterArg(index);
      if (carried == loop.getInductionVar()) continue;
      left.append({loop.getTiedLoopInit(carried)->get(), loop.getTiedLoopYieldedValue(carried)->get()});
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      left.append({branch.getCondition(), branch.thenYield().getOperand(index), branch.elseYield().getOperand(index)});
    } else if (op->getNumRegions() || !isMemoryEffectFree(op)) {
      return false;
    } else {
      left.append(op->operand_begin(), op->operand_end());
    }
  }
  return true;
}

bool isFixed(const std::optional<ScalarExpr>& sum) {
  SmallVector<Value> symbols;
  if (sum)
    for (const ScalarExpr::Term& term : sum->terms()) symbols.append(term.symbols.begin(), term.symbols.end());
  return areFixed(symbols);
}

// Returns true if arguments and the program's number decide whether the op runs, and how often.
bool runsFixed(Operation* op) {
  for (Operation* parent = op->getParentOp(); !isa<func::FuncOp>(parent); parent = parent->getParentOp()) {
    SmallVector<Value> control;
    if (auto loop = dyn_cast<scf::ForOp>(parent))
      control = {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()};
    else if (auto branch = dyn_cast<scf::IfOp>(parent))
      control = {branch.getCondition()};
    else
      return false;
    if (!areFixed(control)) return false;
  }
  return true;
}

// Drops bounds that are not fixed, without which the access is only larger. Returns false if anything else is not.
bool makeFixed(StridedAccess& access) {
  return isFixed(access.baseOffset) && llvm::all_of(access.dims, [](DimAccess& dim) {
           if (!isFixed(dim.bound)) dim.bound.reset();
           if (!isFixed(dim.lowerBound)) dim.lowerBound.reset();
           return isFixed(dim.stride) && isFixed(dim.offset) && isFixed(dim.wrap);
         });
}

// The outermost place behind which one signal tells of all iterations. Tiles of a loop from the program's number on are told of one by one.
Operation* placeOf(Operation* store, const StridedAccess& access) {
  Operation* place = store;
  while (auto loop = dyn_cast<scf::ForOp>(place->getParentOp())) {
    if (loop.getLowerBound().getDefiningOp<tile::ProgramIdOp>() || !Footprint::isKnownAt(loop, access)) break;
    place = loop;
  }
  return place;
}

struct Store {
  Operation* op;
  Operation* place;  // behind which it can be told of
  StridedAccess access;
};

class Departure {
 public:
  Departure(dist::LeavingOp op, llvm::SetVector<Value>& decided, llvm::DenseSet<Operation*>& signals)
      : op_(op), decided_(decided), signals_(signals) {}

  // Fails at the first access of which it cannot tell.
  LogicalResult tell() {
    std::optional<llvm::SetVector<Operation*>> accesses = reachedBy(op_.getResult());
    if (!accesses)
      return op_.emitError(
          "which stores write leaving memory cannot be told: its address decides what the kernel does");
    analysis::AxisInfoAnalysis axes(op_->getParentOfType<func::FuncOp>());
    llvm::MapVector<Block*, std::vector<Store>> together;
    for (Operation* op : *accesses) {
      auto block = dyn_cast<tile::BlockStoreOp>(op);
      if (!isa<tile::StoreOp>(op) && (!block || block.getReduce()))
        return refuse(op, "only stores, and no loads or atomics, may use memory that leaves while the kernel runs");
      std::optional<StridedAccess> access = accessOf(op, axes);
      if (!access || access->base != op_.getResult())
        return refuse(
            op, "what this store writes of leaving memory is not a box with sides affine in the program's numbers");
      if (!makeFixed(*access) || !runsFixed(op))
        return refuse(op, "what this store writes of leaving memory depends on what the kernel loads");
      Operation* place = placeOf(op, *access);
      together[place->getBlock()].push_back({op, place, *access});
    }
    for (auto& [block, stores] : together) tellOf(stores);
    return success();
  }

 private:
  LogicalResult refuse(Operation* op, StringRef why) {
    op->emitError(why).attachNote(op_.getLoc()) << "it is this memory";
    return failure();
  }

  // One signal for all stores of a block, behind the last.
  void tellOf(ArrayRef<Store> stores) {
    const Store& last = *llvm::max_element(
        stores, [](const Store& a, const Store& b) { return a.place != b.place && a.place->isBeforeInBlock(b.place); });
    Location where = last.op->getLoc();
    OpBuilder builder(last.place);
    builder.setInsertionPointAfter(last.place);
    ElementRange all;
    for (const Store& store : stores) {
      std::string behind =
          last.place == last.op ? remark::lineOf(last.op) : "the loop in " + remark::lineOf(last.place);
      remark::passed(store.op, kRemarks,
                     "what this store writes leaves while the kernel runs: the signal is behind " + behind);
      for (const ElementRange& range : Footprint(store.place, store.op->getLoc()).of(store.access)) {
        all.first = all.first ? arith::MinSIOp::create(builder, where, all.first, range.first) : range.first;
        all.last = all.last ? arith::MaxSIOp::create(builder, where, all.last, range.last) : range.last;
      }
    }
    decided_.insert(all.first);
    auto [first, end] = chunksOf(builder, where, all, op_.getChunk(), op_.getChunks());
    Value one = arith::ConstantIntOp::create(builder, where, 1, 64);
    Value rank = dist::RankOp::create(builder, where, Value());
    auto loop = scf::ForOp::create(builder, where, first, end, one);
    OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
    Value word = tile::AddPtrOp::create(inner, where, op_.getWords(), loop.getInductionVar());
    signals_.insert(
        dist::NotifyOp::create(inner, where, word, rank, one, dist::SignalKind::Add, dist::CommScope::IntraNode));
  }

  dist::LeavingOp op_;
  llvm::SetVector<Value>& decided_;
  llvm::DenseSet<Operation*>& signals_;
};

// Erases all that has other effects than signals and loads; the clean-up behind it erases loads that nothing uses then.
void keepOnly(const llvm::DenseSet<Operation*>& signals, func::FuncOp kernel) {
  SmallVector<Operation*> others;
  kernel.walk([&](Operation* op) {
    bool stays = op->getNumRegions() || signals.contains(op) || isMemoryEffectFree(op) ||
                 hasSingleEffect<MemoryEffects::Read>(op);
    if (!stays && !op->hasTrait<OpTrait::IsTerminator>()) others.push_back(op);
  });
  for (Operation* op : others) {
    OpBuilder builder(op);
    for (Value result : op->getResults()) {
      TypedAttr nothing = builder.getZeroAttr(result.getType());
      if (nothing) result.replaceAllUsesWith(arith::ConstantOp::create(builder, op->getLoc(), nothing));
    }
    if (op->use_empty()) op->erase();
  }
}

struct TellDepartures : impl::TellDeparturesBase<TellDepartures> {
  using Base::Base;
  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    SmallVector<dist::LeavingOp> departures;
    kernel.walk([&](dist::LeavingOp op) { departures.push_back(op); });
    if (departures.empty()) return markAllAnalysesPreserved();
    bool anyOrder = !mayWaitForOthers(kernel), counted = false;
    llvm::SetVector<Value> decided;
    llvm::DenseSet<Operation*> signals;
    for (dist::LeavingOp departure : departures) {
      if (failed(Departure(departure, decided, signals).tell())) return signalPassFailure();
      counted |= departure.getCounted();
      departure.getResult().replaceAllUsesWith(departure.getValue());
      departure.erase();
    }
    if (counted)
      keepOnly(signals, kernel);
    else if (anyOrder)
      turnPrograms(kernel, decided,
                   {kRemarks, 1, "begin at the share of the rank behind this one; this rank's own comes last"});
    cleanUp(true);
  }
};

}  // namespace
}  // namespace tandem::transform::gpu
