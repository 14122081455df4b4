// Interval arithmetic over sums of products, in the kernel's own ops.
#include "compiler/transform/gpu/footprint.h"
#include "compiler/analysis/affine_reader.h"
#include "compiler/analysis/axis_info.h"
#include "compiler/transform/gpu/tile_bounds.h"
#include <llvm/ADT/TypeSwitch.h>
#include <mlir/Dialect/Arith/IR/Arith.h>

namespace tandem::transform::gpu {
using namespace mlir;
using analysis::DimAccess;
using analysis::ScalarExpr;
using analysis::StridedAccess;

namespace {

// The loop at `place`, or inside of it, that counts by `symbol`; null: none does.
scf::ForOp loopOf(Operation* place, Value symbol) {
  auto counter = dyn_cast<BlockArgument>(symbol);
  auto loop = counter ? dyn_cast<scf::ForOp>(counter.getOwner()->getParentOp()) : scf::ForOp();
  return loop && loop.getInductionVar() == symbol && place->isAncestor(loop) ? loop : scf::ForOp();
}

bool isKnown(Operation* place, const ScalarExpr& sum) {
  return llvm::all_of(sum.terms(), [&](const ScalarExpr::Term& term) {
    return llvm::all_of(term.symbols, [&](Value symbol) {
      if (scf::ForOp loop = loopOf(place, symbol))
        return llvm::all_of(ArrayRef<Value>{loop.getLowerBound(), loop.getUpperBound(), loop.getStep()},
                            [&](Value bound) { return isKnown(place, ScalarExpr::of(bound)); });
      return !place->isAncestor(symbol.getParentBlock()->getParentOp()) && symbol.getDefiningOp() != place;
    });
  });
}

}  // namespace

std::optional<StridedAccess> accessOf(Operation* op, const analysis::AxisInfoAnalysis& axes) {
  analysis::StrideAnalysis strides(axes);
  if (auto block = dyn_cast<tile::BlockLoadOp>(op)) return strides.of(block);
  if (auto block = dyn_cast<tile::BlockStoreOp>(op)) return strides.of(block);
  Value pointer = op->getOperand(0);
  while (auto same = pointer.getDefiningOp<tile::BitcastOp>()) {  // to numbers of as many bytes, as atomics of floats
    if (analysis::pointeeBytes(same.getSource().getType()) != analysis::pointeeBytes(pointer.getType())) break;
    pointer = same.getSource();
  }
  Value mask = llvm::TypeSwitch<Operation*, Value>(op).Case<tile::LoadOp, tile::StoreOp, tile::AtomicRmwOp>(
      [](auto o) { return o.getMask(); });
  if (!isa<RankedTensorType>(pointer.getType())) {
    std::optional<analysis::AffineTile> place = analysis::AffineReader(&axes).read(pointer);
    return place ? std::optional(StridedAccess{place->base, place->rest, {}, {}}) : std::nullopt;
  }
  std::optional<StridedAccess> access = strides.of(pointer, mask);
  if (!access) access = strides.of(pointer, {});
  return access ? access : boundsOf(pointer, op);
}

bool Footprint::isKnownAt(Operation* place, const StridedAccess& access) {
  auto known = [&](const std::optional<ScalarExpr>& sum) { return !sum || isKnown(place, *sum); };
  return known(access.baseOffset) && llvm::all_of(access.dims, [&](const DimAccess& dim) {
           return known(dim.stride) && known(dim.offset) && known(dim.wrap) && known(dim.bound) &&
                  known(dim.lowerBound);
         });
}

Value Footprint::constant(int64_t value) { return arith::ConstantIntOp::create(builder_, where_, value, 64); }

Footprint::Interval Footprint::added(Interval a, Interval b) {
  Value low = arith::AddIOp::create(builder_, where_, a.low, b.low);
  return {low, a.isPoint() && b.isPoint() ? low : arith::AddIOp::create(builder_, where_, a.high, b.high)};
}

// The sign of neither is known, so that any two ends may make the least and the greatest product.
Footprint::Interval Footprint::multiplied(Interval a, Interval b) {
  if (a.isPoint()) std::swap(a, b);
  Value low = arith::MulIOp::create(builder_, where_, a.low, b.low), high = low;
  auto widen = [&](Value x, Value y) {
    Value product = arith::MulIOp::create(builder_, where_, x, y);
    low = arith::MinSIOp::create(builder_, where_, low, product);
    high = arith::MaxSIOp::create(builder_, where_, high, product);
  };
  if (!a.isPoint()) widen(a.high, b.low);
  if (!b.isPoint()) widen(a.low, b.high), widen(a.high, b.high);
  return {low, high};
}

Footprint::Interval Footprint::ofSymbol(Value symbol) {
  scf::ForOp loop = loopOf(place_, symbol);
  if (!loop) {
    Value value = ScalarExpr::symbol(symbol).build(builder_, where_, builder_.getI64Type());
    return {value, value};
  }
  Interval from = ofSum(ScalarExpr::of(loop.getLowerBound())), to = ofSum(ScalarExpr::of(loop.getUpperBound()));
  Interval step = ofSum(ScalarExpr::of(loop.getStep()));
  Value last = arith::SubIOp::create(builder_, where_, to.high, constant(1));
  if (from.isPoint() && step.isPoint()) {
    Value way = arith::SubIOp::create(builder_, where_, last, from.low);
    Value steps = arith::DivSIOp::create(builder_, where_, way, step.low);
    Value moved = arith::MulIOp::create(builder_, where_, steps, step.low);
    last = arith::AddIOp::create(builder_, where_, from.low, moved);
  }
  return {from.low, last};
}

Footprint::Interval Footprint::ofSum(const ScalarExpr& sum) {
  ScalarExpr fixed;
  SmallVector<Interval> moving;
  for (const ScalarExpr::Term& term : sum.terms()) {
    ScalarExpr factor = term.factor;
    SmallVector<Value> counters;
    for (Value symbol : term.symbols)
      if (loopOf(place_, symbol))
        counters.push_back(symbol);
      else
        factor = factor * ScalarExpr::symbol(symbol);
    if (counters.empty()) {
      fixed = fixed + factor;
      continue;
    }
    Interval product = ofSum(factor);
    for (Value counter : counters) product = multiplied(product, ofSymbol(counter));
    moving.push_back(product);
  }
  Value value = fixed.build(builder_, where_, builder_.getI64Type());
  Interval result{value, value};
  for (Interval& interval : moving) result = added(result, interval);
  return result;
}

// Both the tile's size and a bound limit the places; whichever is less decides.
Footprint::Interval Footprint::ofPlaces(const DimAccess& dim) {
  Interval places = ofSum(dim.offset);
  places.high = arith::AddIOp::create(builder_, where_, places.high, constant(dim.size - 1));
  if (dim.bound) {
    Value last = arith::SubIOp::create(builder_, where_, ofSum(*dim.bound).high, constant(1));
    places.high = arith::MinSIOp::create(builder_, where_, places.high, last);
  }
  if (dim.lowerBound) places.low = arith::MaxSIOp::create(builder_, where_, places.low, ofSum(*dim.lowerBound).low);
  return places;
}

SmallVector<ElementRange, 2> Footprint::wrapped(Interval places, const ScalarExpr& wrap) {
  Interval sizes = ofSum(wrap);
  Value size = sizes.high;
  Value end = arith::SubIOp::create(builder_, where_, size, constant(1));
  if (!sizes.isPoint()) return {{constant(0), end, {}}};
  Value first = arith::RemSIOp::create(builder_, where_, places.low, size);
  Value length = arith::SubIOp::create(builder_, where_, places.high, places.low);
  Value last = arith::AddIOp::create(builder_, where_, first, length);
  Value over = arith::SubIOp::create(builder_, where_, last, size);
  Value exists = arith::CmpIOp::create(builder_, where_, arith::CmpIPredicate::sge, over, constant(0));
  return {{first, arith::MinSIOp::create(builder_, where_, last, end), {}},
          {constant(0), arith::MinSIOp::create(builder_, where_, over, end), exists}};
}

// Places behind the limit become the first or the last below it.
SmallVector<ElementRange, 2> Footprint::clamped(Interval places, const ScalarExpr& limit) {
  Value end = arith::SubIOp::create(builder_, where_, ofSum(limit).high, constant(1));
  auto below = [&](Value place) { return arith::MinSIOp::create(builder_, where_, place, end).getResult(); };
  Value exists = arith::CmpIOp::create(builder_, where_, arith::CmpIPredicate::sgt, places.high, end);
  return {{below(places.low), below(places.high), {}}, {constant(0), constant(0), exists}};
}

SmallVector<ElementRange, 2> Footprint::of(const StridedAccess& access) {
  Interval base = ofSum(access.baseOffset);
  SmallVector<ElementRange, 2> ranges = {{base.low, base.high, {}}};
  for (const DimAccess& dim : access.dims) {
    Interval places = ofPlaces(dim), stride = ofSum(dim.stride);
    SmallVector<ElementRange, 2> pieces = {{places.low, places.high, {}}};
    if (dim.wrap) pieces = dim.clamps ? clamped(places, *dim.wrap) : wrapped(places, *dim.wrap);
    SmallVector<ElementRange, 2> next;
    for (const ElementRange& range : ranges)
      for (const ElementRange& piece : pieces) {
        Interval reach = added({range.first, range.last}, multiplied(stride, {piece.first, piece.last}));
        Value exists = piece.exists ? piece.exists : range.exists;
        if (piece.exists && range.exists) exists = arith::AndIOp::create(builder_, where_, piece.exists, range.exists);
        next.push_back({reach.low, reach.high, exists});
      }
    ranges = std::move(next);
  }
  return ranges;
}

// A dimension that steps by whole rows leaves the column as it is. An access that begins before the first column touches the last
// ones of the row before, so any column may be its last.
Value Footprint::lastColumn(const StridedAccess& access, Value row) {
  Interval columns = ofSum(access.baseOffset), all{constant(0), row};
  for (const DimAccess& dim : access.dims) {
    Interval stride = ofSum(dim.stride), reach = dim.wrap ? all : multiplied(stride, ofPlaces(dim));
    Value isRow = arith::CmpIOp::create(builder_, where_, arith::CmpIPredicate::eq, stride.low, row);
    auto inRow = [&](Value end) {
      return arith::SelectOp::create(builder_, where_, isRow, constant(0), end).getResult();
    };
    columns = added(columns, {inRow(reach.low), inRow(reach.high)});
  }
  Value isBefore = arith::CmpIOp::create(builder_, where_, arith::CmpIPredicate::slt, columns.low, constant(0));
  return arith::SelectOp::create(builder_, where_, isBefore, row, columns.high);
}

}  // namespace tandem::transform::gpu
