// Arithmetic and shapes as sums over dimensions; loop-carried values as their first value and a step.
#include "compiler/analysis/affine_reader.h"
#include "compiler/analysis/zeros.h"
#include "compiler/dialect/tgpu/tgpu.h"
#include "compiler/dialect/tile/tile.h"
#include <llvm/ADT/TypeSwitch.h>
#include <mlir/Dialect/Arith/IR/Arith.h>

namespace tandem::analysis {
using namespace mlir;

namespace {

// Beyond these a value is a symbol of its own; kernels stay far below.
constexpr size_t kMostTerms = 24;
constexpr unsigned kDeepest = 400;

using Reading = std::optional<AffineTile>;

SmallVector<int64_t, 3> shapeOf(Type type) {
  auto shaped = dyn_cast<RankedTensorType>(type);
  return shaped ? SmallVector<int64_t, 3>(shaped.getShape()) : SmallVector<int64_t, 3>();
}

bool isPointer(Type type) { return isa<tile::PtrType>(getElementTypeOrSelf(type)); }

// Narrow integers are left alone: they are meant to wrap around.
bool isWideInteger(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isIndex() || element.isInteger(32) || element.isInteger(64);
}

bool isReadable(Type type) {
  if (isa<ShapedType>(type) && !(isa<RankedTensorType>(type) && cast<ShapedType>(type).hasStaticShape())) return false;
  return isPointer(type) || isWideInteger(type);
}

bool isSmall(const AffineTile& tile) {
  auto small = [](const ScalarExpr& e) { return e.terms().size() <= kMostTerms; };
  return small(tile.rest) && llvm::all_of(tile.dims, [&](const std::optional<AffineDim>& d) {
           return !d || (small(d->stride) && small(d->offset));
         });
}

AffineTile uniform(ScalarExpr value, Type type) {
  AffineTile tile;
  tile.rest = std::move(value);
  tile.shape = shapeOf(type);
  tile.dims.resize(tile.shape.size());
  return tile;
}

// A plain index takes an addend into its offset, where a bound or a remainder can see it.
void absorb(AffineTile& tile) {
  std::optional<unsigned> only = tile.onlyDim();
  if (!only || tile.base) return;
  AffineDim& dim = *tile.dims[*only];
  if (dim.wrap || dim.stride.constant() != 1) return;
  dim.offset = dim.offset + tile.rest;
  tile.rest = {};
}

bool addDim(std::optional<AffineDim>& to, const std::optional<AffineDim>& from, ScalarExpr& rest) {
  if (!from) return true;
  if (!to) {
    to = from;
    return true;
  }
  if (to->wrap || from->wrap) return false;
  rest = rest + to->stride * to->offset + from->stride * from->offset;
  to = AffineDim{to->stride + from->stride, {}, {}};
  if (to->stride.isZero()) to.reset();
  return true;
}

Reading sum(const Reading& l, const Reading& r) {
  if (!l || !r || (l->base && r->base)) return std::nullopt;
  AffineTile tile = *l;
  if (r->base) tile.base = r->base;
  tile.rest = l->rest + r->rest;
  for (auto [to, from] : llvm::zip_equal(tile.dims, r->dims))
    if (!addDim(to, from, tile.rest)) return std::nullopt;
  absorb(tile);
  return tile;
}

Reading scaled(const Reading& tile, const ScalarExpr& by) {
  if (!tile || tile->base) return std::nullopt;
  AffineTile result = *tile;
  result.rest = result.rest * by;
  for (std::optional<AffineDim>& dim : result.dims) {
    if (dim) dim->stride = dim->stride * by;
    if (dim && dim->stride.isZero()) dim.reset();
  }
  return result;
}

Reading product(const Reading& l, const Reading& r) {
  if (!l || !r || l->base || r->base) return std::nullopt;
  if (r->isUniform()) return scaled(l, r->rest);
  if (l->isUniform()) return scaled(r, l->rest);
  return std::nullopt;
}

// A quotient that leaves nothing over.
Reading quotient(const Reading& l, const Reading& r) {
  if (!l || !r || l->base || !l->shape.empty()) return std::nullopt;
  std::optional<int64_t> by = r->rest.constant();
  std::optional<ScalarExpr> exact = by && *by > 0 ? l->rest.dividedBy(*by) : std::nullopt;
  if (!exact) return std::nullopt;
  AffineTile tile = *l;
  tile.rest = *exact;
  return tile;
}

Reading shiftedLeft(const Reading& l, const Reading& r) {
  if (!r || !r->isUniform()) return std::nullopt;
  std::optional<int64_t> amount = r->rest.constant();
  if (!amount || *amount < 0 || *amount > 30) return std::nullopt;
  return scaled(l, ScalarExpr(int64_t(1) << *amount));
}

AffineTile range(tile::MakeRangeOp op) {
  AffineTile tile = uniform({}, op.getType());
  ScalarExpr start = int64_t(int32_t(op.getStart()));
  if (tile.shape[0] == 1)
    tile.rest = start;
  else
    tile.dims[0] = AffineDim{1, start, {}};
  return tile;
}

// Dimensions of size 1 come and go; the others keep their order and size.
Reading reshaped(const AffineTile& source, Type type) {
  AffineTile tile = source;
  tile.shape = shapeOf(type);
  tile.dims.assign(tile.shape.size(), std::nullopt);
  if (source.isUniform()) return tile;
  size_t to = 0;
  for (auto [size, dim] : llvm::zip_equal(source.shape, source.dims)) {
    if (size == 1) continue;
    while (to < tile.shape.size() && tile.shape[to] == 1) ++to;
    if (to == tile.shape.size() || tile.shape[to] != size) return std::nullopt;
    tile.dims[to++] = dim;
  }
  return tile;
}

Reading permuted(const Reading& source, tile::PermuteOp op) {
  if (!source) return std::nullopt;
  AffineTile tile = *source;
  for (auto [to, from] : llvm::enumerate(op.getOrder())) {
    tile.dims[to] = source->dims[from];
    tile.shape[to] = source->shape[from];
  }
  return tile;
}

// The same at every index of the new shape: a dimension that grows had size 1 and no index.
Reading ofType(Reading tile, Type type) {
  if (tile) tile->shape = shapeOf(type);
  if (tile) tile->dims.resize(tile->shape.size());
  return tile;
}

Reading constant(arith::ConstantOp op) {
  if (auto integer = dyn_cast<IntegerAttr>(op.getValue())) return uniform(integer.getInt(), op.getType());
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!elements || !elements.isSplat()) return std::nullopt;
  return uniform(elements.getSplatValue<APInt>().getSExtValue(), op.getType());
}

}  // namespace

bool AffineTile::isUniform() const {
  return llvm::none_of(dims, [](const std::optional<AffineDim>& d) { return d.has_value(); });
}

std::optional<unsigned> AffineTile::onlyDim() const {
  std::optional<unsigned> only;
  for (auto [number, dim] : llvm::enumerate(dims)) {
    if (dim && only) return std::nullopt;
    if (dim) only = number;
  }
  return only;
}

ScalarExpr AffineReader::scalar(Value value) {
  Reading reading = isPointer(value.getType()) ? std::nullopt : read(value);
  return reading ? reading->rest : ScalarExpr::symbol(value);
}

bool AffineReader::isCarried(Value value) const {
  return llvm::any_of(scopes_, [&](const Scope& s) { return s.carried == value; });
}

Reading AffineReader::itself(Value value) const {
  AffineTile tile = uniform({}, value.getType());
  if (isPointer(value.getType()))
    tile.base = value;
  else
    tile.rest = ScalarExpr::symbol(value);
  return tile;
}

Reading AffineReader::read(Value value) {
  if (!isReadable(value.getType())) return isa<ShapedType>(value.getType()) ? std::nullopt : itself(value);
  if (isCarried(value)) return itself(value);
  size_t scope = scopes_.size() - 1;
  if (auto at = scopes_[scope].known.find(value); at != scopes_[scope].known.end()) return at->second;
  Reading reading;
  if (depth_ < kDeepest) {
    ++depth_;
    reading = readNew(value);
    --depth_;
  }
  if (reading && !isSmall(*reading)) reading.reset();
  if (!reading && !isa<ShapedType>(value.getType())) reading = itself(value);
  scopes_[scope].known[value] = reading;
  return reading;
}

Reading AffineReader::readNew(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) return readCarried(argument);
  return readOp(value.getDefiningOp());
}

Reading AffineReader::readOp(Operation* op) {
  if (op->getNumResults() != 1) return std::nullopt;
  Reading reading = readArithmetic(op);
  return reading ? reading : readShape(op);
}

Reading AffineReader::readArithmetic(Operation* op) {
  auto operand = [&](unsigned number) { return read(op->getOperand(number)); };
  return llvm::TypeSwitch<Operation*, Reading>(op)
      .Case<arith::ConstantOp>([&](auto o) { return constant(o); })
      .Case<arith::AddIOp, tile::AddPtrOp>([&](auto) { return sum(operand(0), operand(1)); })
      .Case<arith::SubIOp>([&](auto) { return sum(operand(0), scaled(operand(1), -1)); })
      .Case<arith::MulIOp>([&](auto) { return product(operand(0), operand(1)); })
      .Case<arith::ShLIOp>([&](auto) { return shiftedLeft(operand(0), operand(1)); })
      .Case<arith::DivSIOp>([&](auto) { return quotient(operand(0), operand(1)); })
      .Case<arith::RemSIOp, arith::RemUIOp>([&](auto) { return readRemainder(op); })
      .Case<arith::MinSIOp>([&](auto o) { return clamped(o.getLhs(), read(o.getRhs()), 1); })
      .Case<arith::SelectOp>([&](auto o) { return readChoice(o); })
      .Case<arith::ExtSIOp>([&](auto o) { return isWideInteger(o.getIn().getType()) ? operand(0) : Reading(); })
      .Case<arith::ExtUIOp>([&](auto o) {
        return isWideInteger(o.getIn().getType()) && isNonNegative(o.getIn()) ? operand(0) : Reading();
      })
      .Case<arith::IndexCastOp>([&](auto o) {
        return isWideInteger(o.getIn().getType()) && !o.getType().isInteger(32) ? operand(0) : Reading();
      })
      .Default([](Operation*) { return Reading(); });
}

// A remainder of scalars is a symbol, one of a tile wraps its only dimension around.
Reading AffineReader::readRemainder(Operation* op) {
  if (!isa<ShapedType>(op->getResult(0).getType())) return std::nullopt;
  Reading dividend = read(op->getOperand(0)), divisor = read(op->getOperand(1));
  if (!dividend || !divisor || !divisor->isUniform() || !dividend->onlyDim()) return std::nullopt;
  AffineDim& dim = *dividend->dims[*dividend->onlyDim()];
  bool plain = !dim.wrap && dim.stride.constant() == 1 && dividend->rest.isZero();
  if (!plain || !isNonNegative(op->getOperand(0)) || divisor->rest.constant().value_or(1) <= 0) return std::nullopt;
  dim.wrap = divisor->rest;
  return dividend;
}

// The index, where it is below `limit` + `more`, and elsewhere the first or the last one that is.
Reading AffineReader::clamped(Value index, Reading limit, int64_t more) {
  if (!isa<ShapedType>(index.getType())) return std::nullopt;
  Reading reading = read(index);
  if (!reading || !limit || !limit->isUniform() || !reading->onlyDim() || !isNonNegative(index)) return std::nullopt;
  AffineDim& dim = *reading->dims[*reading->onlyDim()];
  if (dim.wrap || dim.stride.constant() != 1 || !reading->rest.isZero()) return std::nullopt;
  dim.wrap = limit->rest + more;
  dim.clamps = true;
  return reading;
}

// The predicate of the same comparison with its sides exchanged, for those that bound an index.
static arith::CmpIPredicate exchanged(arith::CmpIPredicate predicate) {
  using enum arith::CmpIPredicate;
  switch (predicate) {
    case slt: return sgt;
    case sle: return sge;
    case sgt: return slt;
    case sge: return sle;
    default: return eq;
  }
}

// `index < limit ? index : 0`, however it is written.
Reading AffineReader::readChoice(arith::SelectOp choice) {
  auto compare = choice.getCondition().getDefiningOp<arith::CmpIOp>();
  if (!compare) return std::nullopt;
  using arith::CmpIPredicate;
  Value index = choice.getTrueValue(), other = choice.getFalseValue(), left = compare.getLhs(),
        right = compare.getRhs();
  CmpIPredicate predicate = compare.getPredicate();
  if (right == choice.getTrueValue() || right == choice.getFalseValue()) {
    std::swap(left, right);
    predicate = exchanged(predicate);
  }
  if (left == other) {
    std::swap(index, other);
    predicate = arith::invertPredicate(predicate);
  }
  bool isBelow = predicate == CmpIPredicate::slt || predicate == CmpIPredicate::sle;
  if (left != index || !isBelow || !isZero(other)) return std::nullopt;
  return clamped(index, read(right), predicate == CmpIPredicate::sle);
}

Reading AffineReader::readShape(Operation* op) {
  return llvm::TypeSwitch<Operation*, Reading>(op)
      .Case<tile::MakeRangeOp>([](auto o) { return range(o); })
      .Case<tile::SplatOp, tile::BroadcastOp>([&](auto o) { return ofType(read(o.getSource()), o.getType()); })
      .Case<tile::ExpandDimsOp>([&](auto o) {
        Reading source = read(o.getSource());
        return source ? reshaped(*source, o.getType()) : Reading();
      })
      .Case<tile::ReshapeOp>([&](auto o) {
        Reading source = read(o.getSource());
        return source && (!o.getReorder() || source->isUniform()) ? reshaped(*source, o.getType()) : Reading();
      })
      .Case<tgpu::ConvertLayoutOp>([&](auto o) { return read(o.getSource()); })
      .Case<tile::PermuteOp>([&](auto o) { return permuted(read(o.getSource()), o); })
      .Default([](Operation*) { return Reading(); });
}

// Returns the amount that every iteration adds to a loop-carried value; nothing unless it is the same in every element
// and iteration.
std::optional<ScalarExpr> AffineReader::stepOf(BlockArgument carried, scf::ForOp loop) {
  Value yielded = loop.getTiedLoopYieldedValue(carried)->get();
  scopes_.emplace_back().carried = carried;
  Reading next = read(yielded);
  scopes_.pop_back();
  if (!next || !next->isUniform()) return std::nullopt;
  if (isPointer(carried.getType()) && next->base != carried) return std::nullopt;
  ScalarExpr step = isPointer(carried.getType()) ? next->rest : next->rest - ScalarExpr::symbol(carried);
  return step.isInvariant(loop) ? std::optional(step) : std::nullopt;
}

Reading AffineReader::readCarried(BlockArgument argument) {
  auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
  if (!loop || argument == loop.getInductionVar()) return std::nullopt;
  std::optional<ScalarExpr> step = stepOf(argument, loop);
  if (!step) return std::nullopt;
  std::optional<ScalarExpr> perUnit = step->dividedBy(scalar(loop.getStep()));
  if (!perUnit) return std::nullopt;
  ScalarExpr moved = *perUnit * (ScalarExpr::symbol(loop.getInductionVar()) - scalar(loop.getLowerBound()));
  return sum(read(loop.getTiedLoopInit(argument)->get()), uniform(moved, argument.getType()));
}

}  // namespace tandem::analysis
