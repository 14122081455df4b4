// Signals behind the stores of memory that leaves, and an order of programs in which the peers' part leaves first.
#include "compiler/dialect/dist/dist.h"
#include "compiler/remark/remark.h"
#include "compiler/transform/gpu/counting.h"
#include "compiler/transform/gpu/passes.h"
#include "compiler/transform/gpu/program_order.h"
#include "compiler/transform/gpu/travelling.h"
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

constexpr TravellingErrors kErrors{
    "which stores write leaving memory cannot be told: its address decides what the kernel does",
    "only loads, stores and atomic updates may use memory that leaves while the kernel runs",
    "what this access touches of leaving memory is not a box with sides affine in the program's numbers"};

bool isLoad(Operation* op) { return isa<tile::LoadOp, tile::BlockLoadOp>(op); }
// What is read must stay until it is read: a load is told of like a store.
bool isAccess(Operation* op) { return isLoad(op) || isa<tile::StoreOp, tile::BlockStoreOp, tile::AtomicRmwOp>(op); }

bool isFixed(const std::optional<ScalarExpr>& sum) {
  SmallVector<Value> symbols;
  if (sum)
    for (const ScalarExpr::Term& term : sum->terms()) symbols.append(term.symbols.begin(), term.symbols.end());
  return areFixed(symbols);
}

// Drops bounds that are not fixed, without which the access is only larger. Returns false if anything else is not.
bool makeFixed(StridedAccess& access) {
  return isFixed(access.baseOffset) && llvm::all_of(access.dims, [](DimAccess& dim) {
           if (!isFixed(dim.bound)) dim.bound.reset();
           if (!isFixed(dim.lowerBound)) dim.lowerBound.reset();
           return isFixed(dim.stride) && isFixed(dim.offset) && isFixed(dim.wrap);
         });
}

// The outermost place behind which one signal tells of all iterations, in the loops that `memory` is outside of. Tiles of a loop from the
// program's number on are told of one by one.
Operation* placeOf(Operation* store, const StridedAccess& access, dist::LeavingOp memory) {
  Operation* place = store;
  while (auto loop = dyn_cast<scf::ForOp>(place->getParentOp())) {
    if (loop->isAncestor(memory)) break;
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
  Departure(dist::LeavingOp op, llvm::SetVector<Value>& decided, Signals& signals)
      : op_(op), decided_(decided), signals_(signals) {}

  // Fails at the first access of which it cannot tell.
  LogicalResult tell() {
    if (op_.getCounted() && isOnlyRead()) return success();  // a consumer of which the products are counted
    std::optional<std::vector<TravellingAccess>> accesses = accessesOf(op_, kErrors, isAccess);
    if (!accesses) return failure();
    llvm::MapVector<Block*, std::vector<Store>> together;
    for (auto& [op, access] : *accesses) {
      if (!makeFixed(access) || !runsFixed(op))
        return refuse(op, op_, "what this access touches of leaving memory depends on what the kernel loads");
      Operation* place = placeOf(op, access, op_);
      together[place->getBlock()].push_back({op, place, access});
    }
    for (auto& [block, stores] : together) tellOf(stores);
    return success();
  }

 private:
  bool isOnlyRead() {
    std::optional<llvm::SetVector<Operation*>> ops = reachedBy(op_.getResult());
    return ops && llvm::all_of(*ops, isLoad);
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
      if (!isLoad(store.op))
        remark::passed(store.op, kRemarks,
                       "what this store writes leaves while the kernel runs: the signal is behind " + behind);
      for (const ElementRange& range : Footprint(store.place, store.op->getLoc()).of(store.access)) {
        all.first = all.first ? arith::MinSIOp::create(builder, where, all.first, range.first) : range.first;
        all.last = all.last ? arith::MaxSIOp::create(builder, where, all.last, range.last) : range.last;
      }
    }
    decided_.insert(all.first);
    Value one = arith::ConstantIntOp::create(builder, where, 1, 64);
    Value rank = dist::RankOp::create(builder, where, Value());
    eachChunk(builder, where, all, {op_.getWords(), op_.getChunk(), op_.getChunks()}, {},
              [&](OpBuilder& inner, Value word, Value) {
                signals_.insert(dist::NotifyOp::create(inner, where, word, rank, one, dist::SignalKind::Add,
                                                       dist::CommScope::IntraNode));
                return Value();
              });
  }

  dist::LeavingOp op_;
  llvm::SetVector<Value>& decided_;
  Signals& signals_;
};

// Returns true if all products come behind the op, so that each can tell the word that the op names.
bool isAheadOfProducts(Operation* op, func::FuncOp kernel) {
  return !kernel
              .walk([&](tile::DotOp dot) {
                Operation* there = op->getBlock()->findAncestorOpInBlock(*dot);
                return there && op->isBeforeInBlock(there) ? WalkResult::advance() : WalkResult::interrupt();
              })
              .wasInterrupted();
}

// Updates of what leaves, of which no program learns the old value.
llvm::SetVector<Operation*> sumsIn(ArrayRef<dist::LeavingOp> departures) {
  llvm::SetVector<Operation*> sums;
  for (dist::LeavingOp departure : departures)
    if (std::optional<llvm::SetVector<Operation*>> ops = reachedBy(departure.getResult()))
      for (Operation* op : *ops)
        if (isa<tile::AtomicRmwOp>(op) && op->use_empty()) sums.insert(op);
  return sums;
}

struct TellDepartures : impl::TellDeparturesBase<TellDepartures> {
  using Base::Base;
  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    SmallVector<dist::LeavingOp> departures = opsOf<dist::LeavingOp>(kernel);
    if (departures.empty()) return markAllAnalysesPreserved();
    if (countLoops(kernel)) {
      cleanUp(true);
      departures = opsOf<dist::LeavingOp>(kernel);
    }
    bool anyOrder = !mayWaitForOthers(kernel, sumsIn(departures)), counted = false;
    llvm::SetVector<Value> decided;
    Signals signals;
    for (dist::LeavingOp departure : departures) {
      if (departure.getCounted() && !isAheadOfProducts(departure, kernel)) {
        departure.emitError("a kernel that only counts names the memory that leaves before all of its products");
        return signalPassFailure();
      }
      if (failed(Departure(departure, decided, signals).tell())) return signalPassFailure();
      if (departure.getCounted() && !std::exchange(counted, true))
        countProducts(kernel, wordBehind(departure), signals);
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
