// Waits for what loads read of memory that arrives, and an order of programs in which they wait little.
#include "compiler/dialect/dist/attributes.h"
#include "compiler/dialect/dist/dist.h"
#include "compiler/remark/remark.h"
#include "compiler/transform/gpu/arriving_slices.h"
#include "compiler/transform/gpu/passes.h"
#include "compiler/transform/gpu/program_order.h"
#include "compiler/transform/gpu/travelling.h"
#include "compiler/transform/gpu/waits.h"
#include <llvm/ADT/MapVector.h>
#include <mlir/IR/IRMapping.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tandem::transform::gpu {
using namespace mlir;
using analysis::DimAccess;
using analysis::ScalarExpr;
using analysis::StridedAccess;
using Load = TravellingAccess;
#define GEN_PASS_DEF_AWAITARRIVALS
#include "compiler/transform/gpu/passes.h.inc"
namespace {

constexpr remark::Source kRemarks{remark::RemarkKind::Load, "await-arrivals"};

constexpr TravellingErrors kErrors{
    "which loads read arriving memory cannot be told: its address decides what the kernel does",
    "only loads may use memory that arrives while the kernel runs",
    "what this load reads of arriving memory is not a box with sides affine in the program's numbers"};

void tellOfWait(const Load& load, Operation* place) {
  std::string before = place == load.op ? "it" : "the loop in " + remark::lineOf(place);
  remark::passed(load.op, kRemarks,
                 "what this load reads arrives while the kernel runs: the wait for its chunks is before " + before);
}

void tellOfSlices(const Load& load) {
  remark::passed(load.op, kRemarks,
                 "what this load reads arrives while the kernel runs: the loop in " +
                     remark::lineOf(load.op->getParentOp()) + " waits for each slice of its columns");
}

bool isPointer(Type type) { return isa<tile::PtrType>(getElementTypeOrSelf(type)); }

// A loop from which a wait may go: it changes nothing that others see.
bool onlyReads(scf::ForOp loop) {
  return !loop.getBody()
              ->walk([](Operation* op) {
                bool reads = isa<tile::LoadOp, tile::BlockLoadOp>(op) || op->getNumRegions() || isMemoryEffectFree(op);
                return reads ? WalkResult::advance() : WalkResult::interrupt();
              })
              .wasInterrupted();
}

// By how many elements an iteration's place is behind that of the one before, if that is a number.
std::optional<int64_t> movesBy(scf::ForOp loop, const StridedAccess& access) {
  ScalarExpr places = access.baseOffset;
  for (const DimAccess& dim : access.dims) places = places + dim.offset * dim.stride;
  int64_t moves = 0;
  for (const ScalarExpr::Term& term : places.terms()) {
    if (!llvm::is_contained(term.symbols, loop.getInductionVar())) continue;
    if (term.symbols.size() > 1) return std::nullopt;
    moves += term.factor;
  }
  return moves * getConstantIntValue(loop.getStep()).value_or(1);
}

// Returns true if the iterations read different rows, which may arrive one after the other: the loop's counter moves the access by a stride
// that is no number, or by whole rows where all strides are numbers. That of columns is 1.
bool goesThroughRows(scf::ForOp loop, const StridedAccess& access) {
  std::optional<int64_t> moves = movesBy(loop, access);
  if (!moves) return true;
  int64_t row = 1;
  for (const DimAccess& dim : access.dims) {
    std::optional<int64_t> stride = dim.stride.constant();
    if (!stride) return false;
    row = std::max(row, std::abs(*stride));
  }
  return row > 1 && *moves != 0 && *moves % row == 0;
}

// The outermost place at which one wait serves all iterations, in the loops that `memory` is outside of. Where these go through rows, each
// waits for its own.
Operation* placeOf(const Load& load, dist::ArrivingOp memory) {
  Operation* place = load.op;
  while (auto loop = dyn_cast<scf::ForOp>(place->getParentOp())) {
    if (loop->isAncestor(memory)) break;
    if (!onlyReads(loop) || !Footprint::isKnownAt(loop, load.access) || goesThroughRows(loop, load.access)) break;
    place = loop;
  }
  return place;
}

// Ties the pointers that go into loads at a place to a token: their ops are repeated behind the wait, upon the tied base.
class Ties {
 public:
  Ties(Operation* place, Value base, Value token) : place_(place), base_(base), builder_(place), token_(token) {}

  void tie(OpOperand& use) {
    if (!seen_.insert(&use).second) return;
    Value value = use.get();
    if (isOutside(value)) return use.set(tied(value));
    if (auto carried = dyn_cast<BlockArgument>(value))
      return tie(*cast<scf::ForOp>(carried.getOwner()->getParentOp()).getTiedLoopInit(carried));
    for (OpOperand& operand : value.getDefiningOp()->getOpOperands())
      if (isPointer(operand.get().getType())) tie(operand);
  }

 private:
  bool isOutside(Value value) const { return !place_->isAncestor(value.getParentBlock()->getParentOp()); }

  Value tied(Value value) {
    if (Value known = known_.lookupOrNull(value)) return known;
    Operation* op = value.getDefiningOp();
    Value result;
    if (value == base_ || !op || op->getNumRegions()) {
      result = dist::ConsumeTokenOp::create(builder_, place_->getLoc(), value, token_);
    } else {
      IRMapping operands;
      for (Value operand : op->getOperands())
        if (isPointer(operand.getType())) operands.map(operand, tied(operand));
      result = builder_.clone(*op, operands)->getResult(cast<OpResult>(value).getResultNumber());
    }
    known_.map(value, result);
    return result;
  }

  Operation* place_;
  Value base_;
  OpBuilder builder_;
  Value token_;
  IRMapping known_;
  llvm::DenseSet<OpOperand*> seen_;
};

class Arrival {
 public:
  Arrival(dist::ArrivingOp op, llvm::SetVector<Value>& decided) : op_(op), decided_(decided) {}

  // The first chunk that a load touches in all iterations decides the order of programs, whether it arrives in slices or
  // not.
  void awaitSlices(ArrivingSlices& slices, Operation* place, const Load& load) {
    for (const ElementRange& range : Footprint(place, load.op->getLoc()).of(load.access)) decided_.insert(range.first);
    slices.add(op_, load, place);
  }

  // Lets the loop around a load whose iterations read other rows wait, if these are one range. Returns whether it does.
  bool awaitRows(ArrivingSlices& slices, const Load& load) {
    auto loop = dyn_cast<scf::ForOp>(load.op->getParentOp());
    if (!loop || loop->isAncestor(op_) || !op_.getSlices().empty() || !goesThroughRows(loop, load.access)) return false;
    SmallVector<ElementRange, 2> ranges = Footprint(load.op, load.op->getLoc()).of(load.access);
    if (ranges.size() > 1 || ranges[0].exists) return false;
    decided_.insert(ranges[0].first);
    slices.addRows(op_, load.op, ranges[0]);
    return true;
  }

  void await(Operation* place, ArrayRef<const Load*> loads) {
    OpBuilder builder(place);
    Location where = loads.front()->op->getLoc();
    Value token = arith::ConstantIntOp::create(builder, where, 0, 32);
    for (const Load* load : loads)
      for (const ElementRange& range : Footprint(place, load->op->getLoc()).of(load->access)) {
        decided_.insert(range.first);
        token =
            eachChunk(builder, load->op->getLoc(), range, {op_.getWords(), op_.getChunk(), op_.getChunks()}, token,
                      [&](OpBuilder& inner, Value word, Value) { return awaitWord(inner, load->op->getLoc(), word); });
      }
    Ties ties(place, op_.getResult(), token);
    for (const Load* load : loads) ties.tie(load->op->getOpOperand(0));
  }

 private:
  Value awaitWord(OpBuilder& builder, Location where, Value word) {
    Value once = arith::ConstantIntOp::create(builder, where, 1, 32), epoch = op_.getEpoch();
    if (!op_.getSlices().empty()) epoch = lastSlice(builder, where);
    auto wait = dist::WaitOp::create(builder, where, word, once, epoch, tile::Scope::Sys, tile::Semantic::Acquire,
                                     dist::Compare::Ge);
    dist::setStays(wait);
    return wait;
  }

  // Returns the value that a word has reached when all slices of its chunk are there.
  Value lastSlice(OpBuilder& builder, Location where) {
    Value one = arith::ConstantIntOp::create(builder, where, 1, 64);
    Value last = arith::SubIOp::create(builder, where, op_.getSlices()[0], one);
    return reachedSlice(builder, where, op_, last);
  }

  dist::ArrivingOp op_;
  llvm::SetVector<Value>& decided_;
};

struct AwaitArrivals : impl::AwaitArrivalsBase<AwaitArrivals> {
  using Base::Base;
  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    SmallVector<dist::ArrivingOp> arrivals = opsOf<dist::ArrivingOp>(kernel);
    if (arrivals.empty()) return markAllAnalysesPreserved();
    if (countLoops(kernel)) {
      cleanUp(true);
      arrivals = opsOf<dist::ArrivingOp>(kernel);
    }
    ArrivingSlices slices;
    SmallVector<llvm::MapVector<Operation*, std::vector<Load>>> places;
    for (dist::ArrivingOp arrival : arrivals) {
      auto isLoad = [](Operation* op) { return isa<tile::LoadOp, tile::BlockLoadOp>(op); };
      std::optional<std::vector<Load>> loads = accessesOf(arrival, kErrors, isLoad);
      if (!loads) return signalPassFailure();
      auto& byPlace = places.emplace_back();
      for (Load& load : *loads) byPlace[placeOf(load, arrival)].push_back(load);
    }
    // A program that waits for another may count on the one with the lower number having begun.
    bool anyOrder = !mayWaitForOthers(kernel);
    llvm::SetVector<Value> decided;
    for (auto [arrival, at] : llvm::zip_equal(arrivals, places)) {
      for (auto& [place, loads] : at) {
        SmallVector<const Load*> pointers;
        for (Load& load : loads) {
          bool isSliced = place != load.op && !arrival.getSlices().empty();
          if (isSliced) {
            tellOfSlices(load);
            Arrival(arrival, decided).awaitSlices(slices, place, load);
          } else {
            tellOfWait(load, place);
            bool isOwn = place == load.op && Arrival(arrival, decided).awaitRows(slices, load);
            if (!isOwn) pointers.push_back(&load);
          }
        }
        if (!pointers.empty()) Arrival(arrival, decided).await(place, pointers);
      }
    }
    slices.await();
    for (dist::ArrivingOp arrival : arrivals) {
      arrival.getResult().replaceAllUsesWith(arrival.getValue());
      arrival.erase();
    }
    if (anyOrder)
      turnPrograms(kernel, decided,
                   {kRemarks, 0, "begin at this rank's share of what arrives, and go on as it arrives"});
    if (failed(orderPrograms(kernel, anyOrder, kRemarks))) return signalPassFailure();
    cleanUp(true);
  }
};

}  // namespace
}  // namespace tandem::transform::gpu
