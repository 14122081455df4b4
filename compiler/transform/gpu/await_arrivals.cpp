// Waits for what loads read of memory that arrives, and an order of programs in which they wait little.
#include "compiler/analysis/affine_reader.h"
#include "compiler/analysis/strides.h"
#include "compiler/dialect/dist/dist.h"
#include "compiler/remark/remark.h"
#include "compiler/transform/gpu/footprint.h"
#include "compiler/transform/gpu/passes.h"
#include "compiler/transform/gpu/waits.h"
#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/SmallSet.h>
#include <mlir/IR/IRMapping.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tandem::transform::gpu {
using namespace mlir;
using analysis::StridedAccess;
#define GEN_PASS_DEF_AWAITARRIVALS
#include "compiler/transform/gpu/passes.h.inc"
namespace {

constexpr remark::Source kRemarks{remark::RemarkKind::Load, "await-arrivals"};

struct Load {
  Operation* op;
  StridedAccess access;
};

void tellOfWait(const Load& load, Operation* place) {
  std::string before = place == load.op ? "it" : "the loop in " + remark::lineOf(place);
  remark::passed(load.op, kRemarks,
                 "what this load reads arrives while the kernel runs: the wait for its chunks is before " + before);
}

bool isPointer(Type type) { return isa<tile::PtrType>(getElementTypeOrSelf(type)); }

// A mask that cannot be read only makes the access smaller.
std::optional<StridedAccess> accessOf(Operation* op, const analysis::AxisInfoAnalysis& axes) {
  analysis::StrideAnalysis strides(axes);
  if (auto block = dyn_cast<tile::BlockLoadOp>(op)) return strides.of(block);
  auto load = cast<tile::LoadOp>(op);
  if (!isa<RankedTensorType>(load.getPointer().getType())) {
    std::optional<analysis::AffineTile> place = analysis::AffineReader(&axes).read(load.getPointer());
    return place ? std::optional(StridedAccess{place->base, place->rest, {}, {}}) : std::nullopt;
  }
  std::optional<StridedAccess> access = strides.of(load.getPointer(), load.getMask());
  return access ? access : strides.of(load.getPointer(), {});
}

// A loop from which a wait may go: it changes nothing that others see.
bool onlyReads(scf::ForOp loop) {
  return !loop.getBody()
              ->walk([](Operation* op) {
                bool reads = isa<tile::LoadOp, tile::BlockLoadOp>(op) || op->getNumRegions() || isMemoryEffectFree(op);
                return reads ? WalkResult::advance() : WalkResult::interrupt();
              })
              .wasInterrupted();
}

// The outermost place at which one wait serves all iterations.
Operation* placeOf(const Load& load) {
  Operation* place = load.op;
  while (auto loop = dyn_cast<scf::ForOp>(place->getParentOp())) {
    if (!onlyReads(loop) || !Footprint::isKnownAt(loop, load.access)) break;
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

  void await(Operation* place, ArrayRef<const Load*> loads) {
    OpBuilder builder(place);
    Location where = loads.front()->op->getLoc();
    Value token = arith::ConstantIntOp::create(builder, where, 0, 32);
    for (const Load* load : loads)
      for (const ElementRange& range : Footprint(place, load->op->getLoc()).of(load->access)) {
        decided_.insert(range.first);
        token = awaitRange(builder, load->op->getLoc(), range, token);
      }
    Ties ties(place, op_.getResult(), token);
    for (const Load* load : loads) ties.tie(load->op->getOpOperand(0));
  }

 private:
  Value awaitRange(OpBuilder& builder, Location where, const ElementRange& range, Value token) {
    Value zero = arith::ConstantIntOp::create(builder, where, 0, 64),
          one = arith::ConstantIntOp::create(builder, where, 1, 64);
    auto chunkOf = [&](Value element) {
      Value inside = arith::MaxSIOp::create(builder, where, element, zero);
      return arith::DivSIOp::create(builder, where, inside, op_.getChunk()).getResult();
    };
    Value first = chunkOf(range.first);
    Value end = arith::AddIOp::create(builder, where, chunkOf(range.last), one);
    end = arith::MinSIOp::create(builder, where, end, op_.getChunks());
    if (range.exists) end = arith::SelectOp::create(builder, where, range.exists, end, first);
    auto loop = scf::ForOp::create(builder, where, first, end, one, ValueRange{token});
    OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
    Value word = tile::AddPtrOp::create(inner, where, op_.getWords(), loop.getInductionVar());
    Value once = arith::ConstantIntOp::create(inner, where, 1, 32);
    Value seen = dist::WaitOp::create(inner, where, word, once, op_.getEpoch(), tile::Scope::Sys,
                                      tile::Semantic::Acquire, dist::Compare::Ge);
    scf::YieldOp::create(inner, where, seen);
    return loop.getResult(0);
  }

  dist::ArrivingOp op_;
  llvm::SetVector<Value>& decided_;
};

// What decides the order in which memory is read: axes of the launch, and loops that deal tiles out to programs.
struct Orders {
  llvm::SmallSet<unsigned, 3> axes;
  llvm::SetVector<scf::ForOp> dealers;
};

// Returns true for a loop over tiles from the program's number on, which carries nothing from one tile to the next. Nothing else may know
// the number: a program that keeps something for itself must keep its tiles.
bool dealsTiles(scf::ForOp loop) {
  auto id = loop.getLowerBound().getDefiningOp<tile::ProgramIdOp>();
  if (!id || !id->hasOneUse() || !loop.getInitArgs().empty() || !loop.getInductionVar().getType().isInteger(32))
    return false;
  auto isAnother = [&](tile::ProgramIdOp other) {
    return other != id && other.getAxis() == id.getAxis() ? WalkResult::interrupt() : WalkResult::advance();
  };
  return !loop->getParentOfType<func::FuncOp>().walk(isAnother).wasInterrupted();
}

Orders ordersBehind(const llvm::SetVector<Value>& values) {
  Orders orders;
  llvm::DenseSet<Value> seen;
  SmallVector<Value> left(values.begin(), values.end());
  while (!left.empty()) {
    Value value = left.pop_back_val();
    if (!seen.insert(value).second) continue;
    Operation* op = value.getDefiningOp() ? value.getDefiningOp() : value.getParentBlock()->getParentOp();
    if (auto id = dyn_cast<tile::ProgramIdOp>(op)) orders.axes.insert(id.getAxis());
    auto loop = dyn_cast<scf::ForOp>(op);
    if (loop && loop.getInductionVar() == value && dealsTiles(loop))
      orders.dealers.insert(loop);
    else if (!isa<func::FuncOp>(op))
      left.append(op->operand_begin(), op->operand_end());
  }
  return orders;
}

// (number + rank * count / ranks) mod count: all numbers below `count`, beginning at the rank's own share.
Value fromOwnShare(OpBuilder& builder, Location where, Value number, Value count) {
  Value rank = dist::RankOp::create(builder, where, Value()), ranks = dist::NumRanksOp::create(builder, where, Value());
  Value product = arith::MulIOp::create(builder, where, rank, count);
  Value share = arith::DivSIOp::create(builder, where, product, ranks);
  Value moved = arith::AddIOp::create(builder, where, number, share);
  return arith::RemSIOp::create(builder, where, moved, count);
}

void turnAxis(func::FuncOp kernel, unsigned axis) {
  SmallVector<tile::ProgramIdOp> ids;
  kernel.walk([&](tile::ProgramIdOp id) {
    if (id.getAxis() == axis) ids.push_back(id);
  });
  Location where = ids.front().getLoc();
  remark::passed(
      ids.front(), kRemarks,
      "programs along axis " + Twine(axis) + " begin at this rank's share of what arrives, and go on as it arrives");
  OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
  Value id = tile::ProgramIdOp::create(builder, where, axis), count = tile::NumProgramsOp::create(builder, where, axis);
  Value turned = fromOwnShare(builder, where, id, count);
  for (tile::ProgramIdOp old : ids) {
    old.getResult().replaceAllUsesWith(turned);
    old.erase();
  }
}

// All programs together go through all tiles if the step is their number; then they may do so in another order.
void turnDealer(scf::ForOp loop) {
  Location where = loop.getLoc();
  remark::passed(loop, kRemarks,
                 "tiles of this loop begin at this rank's share of what arrives, and go on as it arrives");
  OpBuilder builder = OpBuilder::atBlockBegin(loop.getBody());
  unsigned axis = loop.getLowerBound().getDefiningOp<tile::ProgramIdOp>().getAxis();
  Value programs = tile::NumProgramsOp::create(builder, where, axis);
  Value areAll = arith::CmpIOp::create(builder, where, arith::CmpIPredicate::eq, programs, loop.getStep());
  Value none = arith::ConstantIntOp::create(builder, where, 0, 32);
  Value count =
      arith::MaxSIOp::create(builder, where, loop.getUpperBound(), none);  // the loop's bound is positive here
  Value turned = fromOwnShare(builder, where, loop.getInductionVar(), count);
  Value tile = arith::SelectOp::create(builder, where, areAll, turned, loop.getInductionVar());
  loop.getInductionVar().replaceUsesWithIf(tile, [&](OpOperand& use) {
    Operation* user = use.getOwner();
    return user != tile.getDefiningOp() && !turned.getDefiningOp()->getOperand(0).getDefiningOp()->isAncestor(user);
  });
}

struct AwaitArrivals : impl::AwaitArrivalsBase<AwaitArrivals> {
  using Base::Base;
  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    SmallVector<dist::ArrivingOp> arrivals;
    kernel.walk([&](dist::ArrivingOp op) { arrivals.push_back(op); });
    if (arrivals.empty()) return markAllAnalysesPreserved();
    SmallVector<llvm::MapVector<Operation*, std::vector<Load>>> places;
    for (dist::ArrivingOp arrival : arrivals) {
      std::optional<std::vector<Load>> loads = loadsOf(arrival);
      if (!loads) return signalPassFailure();
      auto& byPlace = places.emplace_back();
      for (Load& load : *loads) byPlace[placeOf(load)].push_back(load);
    }
    // A program that waits for another may count on the one with the lower number having begun.
    bool anyOrder = !mayWaitForOthers(kernel);
    llvm::SetVector<Value> decided;
    for (auto [arrival, at] : llvm::zip_equal(arrivals, places)) {
      for (auto& [place, loads] : at) {
        SmallVector<const Load*> pointers;
        for (Load& load : loads) {
          tellOfWait(load, place);
          pointers.push_back(&load);
        }
        Arrival(arrival, decided).await(place, pointers);
      }
      arrival.getResult().replaceAllUsesWith(arrival.getValue());
      arrival.erase();
    }
    Orders orders = anyOrder ? ordersBehind(decided) : Orders();
    for (unsigned axis : orders.axes) turnAxis(kernel, axis);
    for (scf::ForOp loop : orders.dealers) turnDealer(loop);
    cleanUp(true);
  }

 private:
  std::optional<std::vector<Load>> loadsOf(dist::ArrivingOp arrival) {
    std::optional<llvm::SetVector<Operation*>> accesses = reachedBy(arrival.getResult());
    if (!accesses) {
      arrival.emitError("which loads read arriving memory cannot be told: its address decides what the kernel does");
      return std::nullopt;
    }
    analysis::AxisInfoAnalysis axes(getOperation());
    std::vector<Load> loads;
    for (Operation* op : *accesses) {
      if (!isa<tile::LoadOp, tile::BlockLoadOp>(op)) {
        op->emitError("only loads may use memory that arrives while the kernel runs").attachNote(arrival.getLoc())
            << "it is this memory";
        return std::nullopt;
      }
      std::optional<StridedAccess> access = accessOf(op, axes);
      if (!access || access->base != arrival.getResult()) {
        op->emitError("what this load reads of arriving memory is not a box with sides affine in the program's numbers")
                .attachNote(arrival.getLoc())
            << "it is this memory";
        return std::nullopt;
      }
      loads.push_back({op, *access});
    }
    return loads;
  }
};

}  // namespace
}  // namespace tandem::transform::gpu
