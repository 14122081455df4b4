// Signals behind the stores of memory that leaves, and an order of programs in which the peers' part leaves first.
#include "compiler/dialect/dist/dist.h"
#include "compiler/remark/remark.h"
#include "compiler/transform/gpu/counting.h"
#include "compiler/transform/gpu/passes.h"
#include "compiler/transform/gpu/program_order.h"
#include "compiler/transform/gpu/sum_parts.h"
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

constexpr ProgramOrder kWriting{kRemarks, 1,
                                "begin at the share of the rank behind this one; this rank's own comes last"},
    kReading{kRemarks, 0, "begin at this rank's share"};

bool isLoad(Operation* op) { return isa<tile::LoadOp, tile::BlockLoadOp>(op); }
// A load is told of like a store, for the memory that it reads must stay as it is until then.
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

struct Told {
  bool anyOrder;                        // of the programs
  llvm::SetVector<Value> decided = {};  // values which say what part of the memory a program touches
  Signals signals = {};
  SmallVector<Operation*> places = {};  // each stands for the program's place in the launch
  bool anyReads = false;                // of memory that arrives
};

class Departure {
 public:
  Departure(dist::LeavingOp op, Told& told) : op_(op), told_(told) {}

  // Fails at the first access of which it cannot tell.
  LogicalResult tell() {
    if (op_.getCounted() && isOnlyRead()) return noteReads();  // a consumer of which the products are counted
    std::optional<std::vector<TravellingAccess>> accesses = accessesOf(op_, kErrors, isAccess);
    if (!accesses || (op_.getReady() && failed(checkSums(op_, *accesses)))) return failure();
    llvm::MapVector<Block*, std::vector<Store>> together;
    for (auto& [op, access] : *accesses) {
      if (!makeFixed(access) || !runsFixed(op))
        return refuse(
            op, op_,
            "what this access touches of leaving memory depends on what the kernel loads: its signals cannot be "
            "counted before it runs. Pass what decides it as an argument");
      Operation* place = placeOf(op, access, op_);
      together[place->getBlock()].push_back({op, place, access});
    }
    for (auto& [block, stores] : together) tellOf(stores);
    if (op_.getParts() && op_.getCounted()) {
      for (const TravellingAccess& access : *accesses) mark(access.op);
      return success();
    }
    return op_.getParts() ? withParts(*accesses) : success();
  }

 private:
  void mark(Operation* op) {
    bool isStore = isa<tile::StoreOp, tile::BlockStoreOp>(op);
    if (Operation* mark = isStore ? markWritten(op_, op) : nullptr) told_.signals.insert(mark);
  }

  // All stores of the program together decide whether they add: what they touch is what a kernel that counts notes of the program.
  LogicalResult withParts(ArrayRef<TravellingAccess> accesses) {
    if (accesses.empty()) return success();
    auto isAhead = [](const TravellingAccess& a, const TravellingAccess& b) { return a.op->isBeforeInBlock(b.op); };
    Operation* first = llvm::min_element(accesses, isAhead)->op;
    takeNumbersAhead(first, llvm::max_element(accesses, isAhead)->op);
    OpBuilder builder(first);
    ElementRange all;
    for (const TravellingAccess& access : accesses) {
      if (!Footprint::isKnownAt(first, access.access))
        return refuse(access.op, op_, "where this store writes is known too late for the peers' parts to be added");
      for (const ElementRange& range : Footprint(first, first->getLoc()).of(access.access)) {
        all.first = all.first ? arith::MinSIOp::create(builder, first->getLoc(), all.first, range.first) : range.first;
        all.last = all.last ? arith::MaxSIOp::create(builder, first->getLoc(), all.last, range.last) : range.last;
      }
    }
    for (const TravellingAccess& access : accesses) {
      remark::passed(access.op, kRemarks, "what this store writes of this rank's share gets the peers' parts added");
      addParts(op_, access.op, all);
    }
    return success();
  }

  // Computes numbers before the first store, where that is possible.
  static void takeNumbersAhead(Operation* first, Operation* last) {
    llvm::DenseSet<Operation*> stay;
    for (Operation* op = first; op != last;) {
      Operation* next = op->getNextNode();
      bool isNumber = !op->getNumRegions() && isMemoryEffectFree(op) &&
                      llvm::none_of(op->getResultTypes(), [](Type type) { return isa<RankedTensorType>(type); }) &&
                      llvm::none_of(op->getOperands(), [&](Value v) { return stay.contains(v.getDefiningOp()); });
      if (op != first && isNumber)
        op->moveBefore(first);
      else
        stay.insert(op);
      op = next;
    }
  }

  bool isOnlyRead() {
    std::optional<llvm::SetVector<Operation*>> ops = reachedBy(op_.getResult());
    return ops && llvm::all_of(*ops, isLoad);
  }

  // The chunks that loads touch. A load whose places other loads decide is left out.
  LogicalResult noteReads() {
    std::optional<std::vector<TravellingAccess>> accesses = accessesOf(op_, kErrors, isLoad);
    if (!accesses) return failure();
    told_.anyReads = true;
    for (auto& [op, access] : *accesses) {
      if (!makeFixed(access) || !runsFixed(op)) continue;
      Operation* place = placeOf(op, access, op_);
      OpBuilder builder(place);
      // An access that wraps around has two ranges; the order goes by the one before it does.
      ElementRange range = Footprint(place, op->getLoc()).of(access).front();
      told_.decided.insert(range.first);
      noteElements(builder, op->getLoc(), range);
    }
    return success();
  }

  // Writes into the table of an `ordered` memory which elements this program touches in its last access: the first one and the last one,
  // which is ahead of the first if there is none.
  void noteElements(OpBuilder& builder, Location where, const ElementRange& range) {
    auto ordered = op_.getValue().getDefiningOp<dist::OrderedOp>();
    bool inLoop = false;  // which goes through chunks
    for (Operation* op = builder.getInsertionBlock()->getParentOp(); op; op = op->getParentOp())
      inLoop |= isa<LoopLikeOpInterface>(op);
    if (!ordered || !told_.anyOrder || inLoop) return;
    Value last = range.last;
    if (range.exists) {
      Value one = arith::ConstantIntOp::create(builder, where, 1, 64);
      Value none = arith::SubIOp::create(builder, where, range.first, one);
      last = arith::SelectOp::create(builder, where, range.exists, last, none);
    }
    Value place = arith::ConstantIntOp::create(builder, where, 0, 32),
          two = arith::ConstantIntOp::create(builder, where, 2, 32),
          one = arith::ConstantIntOp::create(builder, where, 1, 32);
    told_.places.push_back(place.getDefiningOp());
    Value to =
        tile::AddPtrOp::create(builder, where, ordered.getOrder(), arith::MulIOp::create(builder, where, place, two));
    for (Value element : {range.first, last}) {
      told_.signals.insert(
          tile::StoreOp::create(builder, where, to, element, Value(), tile::Cache::None, tile::Evict::Normal));
      to = tile::AddPtrOp::create(builder, where, to, one);
    }
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
    told_.decided.insert(all.first);
    Value one = arith::ConstantIntOp::create(builder, where, 1, 64);
    Value rank = dist::RankOp::create(builder, where, Value());
    eachChunk(builder, where, all, {op_.getWords(), op_.getChunk(), op_.getChunks()}, {},
              [&](OpBuilder& inner, Value word, Value) {
                told_.signals.insert(dist::NotifyOp::create(inner, where, word, rank, one, dist::SignalKind::Add,
                                                            dist::CommScope::IntraNode));
                return Value();
              });
    if (op_.getCounted()) noteElements(builder, where, all);
  }

  dist::LeavingOp op_;
  Told& told_;
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

// Puts the program's place in the launch where `places` stand for it; the numbers of turned programs are others.
void placePrograms(func::FuncOp kernel, ArrayRef<Operation*> places) {
  OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
  Value place = placeInLaunch(builder, kernel.getLoc());
  for (Operation* of : places) of->getResult(0).replaceAllUsesWith(place);
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
    bool counted = false;
    Told told{!mayWaitForOthers(kernel, sumsIn(departures))};
    SmallVector<dist::DealtOp> dealt = opsOf<dist::DealtOp>(kernel);
    if (!dealt.empty() && mayWaitForOthers(kernel, unreadUpdates(kernel))) {
      dealt.front().emitError(
          "programs of a kernel that may wait for others are not dealt out: one may wait for what it comes to later");
      return signalPassFailure();
    }
    for (dist::LeavingOp departure : departures) {
      if (departure.getCounted() && !isAheadOfProducts(departure, kernel)) {
        departure.emitError("a kernel that only counts names the memory that leaves before all of its products");
        return signalPassFailure();
      }
      if (departure.getReady() && !told.anyOrder) {
        departure.emitError("programs of a kernel that may wait for others cannot wait for the peers' parts");
        return signalPassFailure();
      }
      if (failed(Departure(departure, told).tell())) return signalPassFailure();
      if (departure.getCounted() && !std::exchange(counted, true))
        countProducts(kernel, wordBehind(departure), told.signals);
      departure.getResult().replaceAllUsesWith(departure.getValue());
      departure.erase();
    }
    if (told.anyOrder && (!counted || !told.places.empty()))
      turnPrograms(kernel, told.decided, told.anyReads ? kReading : kWriting);
    if (counted) {
      placePrograms(kernel, told.places);
      dropOrders(kernel);
      keepOnly(told.signals, kernel);
    } else if (failed(orderPrograms(kernel, told.anyOrder, kRemarks))) {
      return signalPassFailure();
    }
    cleanUp(true);
  }
};

}  // namespace
}  // namespace tandem::transform::gpu
