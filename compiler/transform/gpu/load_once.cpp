// Looks for loads that a loop repeats, and for quotients of positions in the addresses of loads, and loads once.
#include "compiler/analysis/axis_info.h"
#include "compiler/dialect/tile/attributes.h"
#include "compiler/dialect/tile/concurrency.h"
#include "compiler/transform/gpu/accesses.h"
#include "compiler/transform/gpu/invariants.h"
#include "compiler/transform/gpu/part_of_tile.h"
#include "compiler/transform/gpu/passes.h"
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/IR/Matchers.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>
#include <llvm/ADT/SetVector.h>
#include <numeric>

namespace tandem::transform::gpu {
using namespace mlir;
#define GEN_PASS_DEF_LOADONCE
#include "compiler/transform/gpu/passes.h.inc"
namespace {

// Returns the constant by which `op` divides all elements; 0 where it does not.
int64_t divisorOf(Operation* op) {
  if (!isa<arith::DivSIOp, arith::DivUIOp, arith::ShRSIOp, arith::ShRUIOp>(op)) return 0;
  Value divisor = op->getOperand(1);
  if (auto splat = divisor.getDefiningOp<tile::SplatOp>()) divisor = splat.getSource();
  APInt by;
  if (!matchPattern(divisor, m_ConstantInt(&by))) return 0;
  if (isa<arith::DivSIOp, arith::DivUIOp>(op)) return by.getSExtValue();
  return by.ult(32) ? int64_t(1) << by.getZExtValue() : 0;
}

class Repetition {
 public:
  Repetition(tile::LoadOp load, unsigned dim, int64_t times, const analysis::AxisInfoAnalysis& known)
      : load_(load), dim_(dim), times_(times), known_(known),
        part_([](Operation* op) { return isMemoryEffectFree(op); }) {}

  // Loads one of each `times` elements if these have a quotient of their positions in common.
  bool apply() {
    if (!part_.takeOperands(load_, dim_)) return false;
    OpBuilder builder(load_);
    IRMapping made;
    for (auto& [op, dim] : part_.ops())
      if (Value quotient = quotientOf(op, builder)) made.map(op->getResult(0), quotient);
    if (made.getValueMap().empty()) return false;
    for (Value operand : load_->getOperands()) {
      Value part =
          part_.make(operand, times_, builder, [&](auto range, auto type) { return each(range, type, builder); }, made);
      made.map(operand, part);
    }
    if (load_.getMask()) keepRuns(load_.getMask(), made);
    auto type = cast<RankedTensorType>(load_.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[dim_] /= times_;
    Operation* once = builder.clone(*load_, made);
    once->getResult(0).setType(type.clone(shape));
    limitPromises(once, dim_);
    for (auto& [op, dim] : part_.ops())
      if (Value part = made.lookupOrNull(op->getResult(0))) limitPromises(part.getDefiningOp(), dim);
    repeat(once->getResult(0), type, builder);
    return true;
  }

 private:
  // Returns the quotients themselves where `op` divides positions by the number of times, else null.
  Value quotientOf(Operation* op, OpBuilder& builder) const {
    if (divisorOf(op) != times_ || !isMultiple(op->getOperand(0))) return nullptr;
    return divided(op->getOperand(0), isa<arith::DivUIOp, arith::ShRUIOp>(op), builder);
  }

  // Returns true if the first of each `times` elements is a multiple of that number, as a sum of positions and numbers.
  bool isMultiple(Value v) const {
    Operation* op = v.getDefiningOp();
    if (!op || !part_.ops().contains(op)) return false;
    if (auto splat = dyn_cast<tile::SplatOp>(op))
      return known_.of(splat.getSource()).divisibility(0) % times_ == 0 && splat.getSource().getType().isInteger();
    // Quotients of negative positions depend on how they are rounded.
    if (auto range = dyn_cast<tile::MakeRangeOp>(op))
      return int32_t(range.getStart()) >= 0 && range.getStart() % times_ == 0;
    return isa<tile::ExpandDimsOp, arith::ExtSIOp, arith::AddIOp>(op) &&
           llvm::all_of(op->getOperands(), [&](Value operand) { return isMultiple(operand); });
  }

  // Divides such a sum, term by term: each quotient is exact.
  Value divided(Value v, bool isUnsigned, OpBuilder& builder) const {
    Operation* op = v.getDefiningOp();
    Location loc = op->getLoc();
    auto whole = cast<RankedTensorType>(v.getType());
    SmallVector<int64_t> shape(whole.getShape());
    shape[part_.ops().lookup(op)] /= times_;
    auto type = whole.clone(shape);
    if (auto range = dyn_cast<tile::MakeRangeOp>(op)) {
      int64_t start = range.getStart() / times_;
      return tile::MakeRangeOp::create(builder, loc, type, start, start + shape[0]);
    }
    if (auto splat = dyn_cast<tile::SplatOp>(op)) {
      Value number = splat.getSource(), by = arith::ConstantIntOp::create(builder, loc, number.getType(), times_);
      Value exact = isUnsigned ? arith::DivUIOp::create(builder, loc, number, by).getResult()
                               : arith::DivSIOp::create(builder, loc, number, by).getResult();
      return tile::SplatOp::create(builder, loc, type, exact);
    }
    SmallVector<Value> terms =
        llvm::map_to_vector(op->getOperands(), [&](Value term) { return divided(term, isUnsigned, builder); });
    if (auto higher = dyn_cast<tile::ExpandDimsOp>(op))
      return tile::ExpandDimsOp::create(builder, loc, type, terms.front(), higher.getAxis());
    if (isa<arith::ExtSIOp>(op)) return arith::ExtSIOp::create(builder, loc, type, terms.front());
    return arith::AddIOp::create(builder, loc, terms.front(), terms.back());
  }

  // Returns the first of each `times` positions.
  Value each(tile::MakeRangeOp range, RankedTensorType type, OpBuilder& builder) const {
    Location loc = range.getLoc();
    auto number = [&](int64_t n) {
      return arith::ConstantOp::create(builder, loc,
                                       DenseElementsAttr::get(type, builder.getI32IntegerAttr(n).getValue()));
    };
    Value first = tile::MakeRangeOp::create(builder, loc, type, 0, type.getDimSize(0));
    Value scaled = arith::MulIOp::create(builder, loc, first, number(times_));
    return arith::AddIOp::create(builder, loc, scaled, number(range.getStart()));
  }

  // Notes at the mask's part how many neighbours are equal, which is not to be seen of positions that lie apart.
  void keepRuns(Value mask, const IRMapping& made) const {
    Operation* part = made.lookup(mask).getDefiningOp();
    if (!part || tile::promiseOf(part, tile::Promise::Constancy)) return;
    auto type = cast<RankedTensorType>(mask.getType());
    SmallVector<int32_t> runs;
    for (unsigned d = 0; d < type.getRank(); ++d)
      runs.push_back(std::min(known_.of(mask).constancy(d), type.getDimSize(d)));
    tile::setPromise(part, tile::Promise::Constancy, runs);
  }

  // Promises are about neighbours, and the part's were `times` apart.
  void limitPromises(Operation* op, unsigned dim) const {
    for (tile::Promise what : tile::kPromises) {
      DenseI32ArrayAttr promised = tile::promiseOf(op, what);
      if (!promised || promised.size() <= int64_t(dim)) continue;
      SmallVector<int32_t> left(promised.asArrayRef());
      int64_t number = left[dim];
      left[dim] = what == tile::Promise::Divisibility ? std::gcd(number, times_)
                  : what == tile::Promise::Constancy  ? std::max<int64_t>(1, number / times_)
                                                      : 1;
      tile::setPromise(op, what, left);
    }
  }

  void repeat(Value once, RankedTensorType type, OpBuilder& builder) {
    Location loc = load_.getLoc();
    SmallVector<int64_t> shape(cast<RankedTensorType>(once.getType()).getShape());
    shape.insert(shape.begin() + dim_ + 1, 1);
    Value higher = tile::ExpandDimsOp::create(builder, loc, type.clone(shape), once, dim_ + 1);
    shape[dim_ + 1] = times_;
    Value wider = tile::BroadcastOp::create(builder, loc, type.clone(shape), higher);
    auto all = tile::ReshapeOp::create(builder, loc, type, wider, false);
    for (tile::Promise what : tile::kPromises)
      if (DenseI32ArrayAttr promised = tile::promiseOf(load_, what)) tile::setPromise(all, what, promised);
    load_.replaceAllUsesWith(all.getResult());
    load_.erase();
  }

  tile::LoadOp load_;
  unsigned dim_;
  int64_t times_;
  const analysis::AxisInfoAnalysis& known_;
  PartOfTile part_;
};

int64_t bytesOf(tile::LoadOp load) {
  auto tile = dyn_cast<RankedTensorType>(load.getType());
  Type element = getElementTypeOrSelf(load.getType());
  int64_t each = element.isIntOrFloat() ? std::max(1u, element.getIntOrFloatBitWidth() / 8) : 8;
  return tile ? tile.getNumElements() * each : 0;
}

// Returns true if the launch promises that nothing which the loop writes is what the load reads. Elsewhere in this compiler arguments are
// taken to be apart while copies run ahead of a loop's stores by an iteration or two; here all iterations would miss what one has stored.
bool isApartFromWrites(scf::ForOp loop, tile::LoadOp load) {
  BlockArgument from = argumentBehind(load.getPointer());
  llvm::SmallSetVector<BlockArgument, 4> written;
  loop.walk([&](Operation* op) {
    std::optional<tile::Concurrency> does = tile::concurrencyOf(op);
    if (!does) return;
    for (const tile::MemoryAccess& access : does->accesses)
      if (access.writes && access.memory != tile::Memory::Shared)
        written.insert(access.address ? argumentBehind(access.address) : BlockArgument());
  });
  return llvm::all_of(written, [&](BlockArgument to) { return from && to && tile::takeApart(from, to); });
}

// Loads before a loop that runs what each of its iterations would load again, as far as threads keep it in few registers. Loops of
// products have copies of their own.
bool loadBefore(scf::ForOp loop, int64_t threads) {
  constexpr int64_t kBytesOfThread = 128;
  constexpr size_t kMostHoisted = 31;
  std::optional<int64_t> begin = getConstantIntValue(loop.getLowerBound()),
                         end = getConstantIntValue(loop.getUpperBound());
  auto isOff = loop->getAttrOfType<BoolAttr>(tile::TileDialect::DisableLicmAttrHelper::getNameStr());
  if (!begin || !end || *begin >= *end || (isOff && isOff.getValue())) return false;
  if (loop.walk([](tile::DotOp) { return WalkResult::interrupt(); }).wasInterrupted()) return false;
  int64_t room = kBytesOfThread * threads;
  bool changed = false;
  for (tile::LoadOp load : llvm::make_early_inc_range(loop.getBody()->getOps<tile::LoadOp>())) {
    SmallVector<Operation*> chain;
    bool stays =
        load.getIsVolatile() || bytesOf(load) > room || holdsBackIn(loop, load) ||
        !llvm::all_of(load->getOperands(), [&](Value v) { return isInvariant(v, loop, chain, kMostHoisted); }) ||
        !isApartFromWrites(loop, load);
    if (stays) continue;
    chain.push_back(load);
    for (Operation* op : chain) op->moveBefore(loop);
    room -= bytesOf(load);
    changed = true;
  }
  return changed;
}

struct LoadOnce : impl::LoadOnceBase<LoadOnce> {
  using Base::Base;
  void runOnOperation() override {
    constexpr int64_t kWarp = 32;
    int64_t threads = kWarp * tile::numWarps(getOperation());
    bool hoists = false;
    getOperation().walk([&](scf::ForOp loop) { hoists |= loadBefore(loop, threads); });
    std::optional<analysis::AxisInfoAnalysis> known;
    SmallVector<tile::LoadOp> loads;
    getOperation().walk([&](tile::LoadOp load) {
      if (isa<RankedTensorType>(load.getType()) && !load.getIsVolatile()) loads.push_back(load);
    });
    bool changed = false;
    for (tile::LoadOp load : loads) {
      if (!known) known.emplace(getOperation());
      for (unsigned dim = 0; dim < cast<RankedTensorType>(load.getType()).getRank(); ++dim) {
        int64_t times = known->of(load.getPointer()).constancy(dim);
        for (Value value : {load.getMask(), load.getOther()})
          if (value) times = std::min(times, known->of(value).constancy(dim));
        if (times == 1 || times == cast<RankedTensorType>(load.getType()).getDimSize(dim)) continue;
        if (!Repetition(load, dim, times, *known).apply()) continue;
        changed = true;
        known.reset();  // It knows the load by its address, which another op may get.
        break;
      }
    }
    cleanUp(changed || hoists);
  }
};

}  // namespace
}  // namespace tandem::transform::gpu
