// This file joins the readings of a tile of pointers and of its mask, dimension by dimension.
#include "compiler/analysis/strides.h"
#include "compiler/analysis/mask_bounds.h"
#include "compiler/dialect/dist/dist.h"
#include "compiler/dialect/tile/tile.h"

namespace tandem::analysis {
using namespace mlir;

namespace {

StridedAccess withoutMask(const AffineTile& pointer) {
  StridedAccess access;
  access.base = pointer.base;
  access.baseOffset = pointer.rest;
  for (auto [size, dim] : llvm::zip_equal(pointer.shape, pointer.dims)) {
    DimAccess& to = access.dims.emplace_back();
    to.size = size;
    if (!dim) continue;
    to.stride = dim->stride;
    to.offset = dim->offset;
    to.wrap = dim->wrap;
    to.clamps = dim->clamps;
  }
  return access;
}

// A mask's bound is relative to the mask's own offset, which may differ from that of the access by what its pointers
// carry. Two bounds of one kind and dimension must be the same, or upper ones of which there may be several.
bool addBounds(StridedAccess& access, ArrayRef<MaskBound> bounds, bool severalBounds) {
  for (const MaskBound& bound : bounds) {
    DimAccess& dim = access.dims[bound.dim];
    std::optional<ScalarExpr>& to = bound.isLower ? dim.lowerBound : dim.bound;
    ScalarExpr limit = bound.limit - bound.offset + dim.offset;
    if (to && !(*to == limit)) {
      if (bound.isLower || !severalBounds) return false;
      dim.alsoBelow.push_back(limit);
    } else {
      to = limit;
    }
  }
  return true;
}

ScalarExpr single(const ScalarExpr::Term& term) {
  ScalarExpr result = term.factor;
  for (Value symbol : term.symbols) result = result * ScalarExpr::symbol(symbol);
  return result;
}

// Adds `by` to where index 0 is; the bounds move along, as the elements they admit stay the same.
void shift(DimAccess& dim, const ScalarExpr& by) {
  dim.offset = dim.offset + by;
  if (dim.bound) dim.bound = *dim.bound + by;
  if (dim.lowerBound) dim.lowerBound = *dim.lowerBound + by;
  for (ScalarExpr& bound : dim.alsoBelow) bound = bound + by;
}

// A tensor's end is a bound that arguments decide.
void chooseBound(DimAccess& dim) {
  if (!dim.bound || dim.bound->isOfArguments()) return;
  auto better = llvm::find_if(dim.alsoBelow, [](const ScalarExpr& bound) { return bound.isOfArguments(); });
  if (better != dim.alsoBelow.end()) std::swap(*dim.bound, *better);
}

bool makesBoundsSimpler(const DimAccess& dim, const ScalarExpr& by) {
  size_t before = 0, after = 0;
  for (const auto* bound : {&dim.bound, &dim.lowerBound})
    if (*bound) {
      before += (*bound)->terms().size();
      after += (**bound + by).terms().size();
    }
  return after < before;
}

bool isUnit(const DimAccess& dim) { return dim.stride.constant() == 1; }

bool changesInLoop(const ScalarExpr::Term& term) {
  return llvm::any_of(term.symbols,
                      [](Value v) { return isa<BlockArgument>(v) && !ScalarExpr::symbol(v).isOfArguments(); });
}

// An unbounded dimension takes a term that is a multiple of its stride if only the launch knows the stride, or if the
// term changes in the kernel. Every term is a multiple of stride 1: among several dimensions, the one with stride 1
// takes only terms that a loop changes.
bool mayTake(const StridedAccess& access, const DimAccess& dim, const ScalarExpr& term) {
  if (dim.bound || dim.lowerBound) return false;
  if (!dim.stride.constant()) return true;
  if (isUnit(dim) && access.dims.size() > 1 && !llvm::all_of(term.terms(), changesInLoop)) return false;
  auto variesInKernel = [](const ScalarExpr::Term& t) {
    return !t.symbols.empty() &&
           llvm::none_of(t.symbols, [](Value v) { return ScalarExpr::symbol(v).isOfArguments(); });
  };
  return llvm::all_of(term.terms(), variesInKernel);
}

bool moveTerm(StridedAccess& access, const ScalarExpr& term, bool toBounded) {
  for (bool units : {false, true})
    for (DimAccess& dim : access.dims) {
      if (dim.wrap || isUnit(dim) != units) continue;
      std::optional<ScalarExpr> by = term.dividedBy(dim.stride);
      if (!by || !(toBounded ? makesBoundsSimpler(dim, *by) : mayTake(access, dim, term))) continue;
      shift(dim, *by);
      access.baseOffset = access.baseOffset - term;
      return true;
    }
  return false;
}

// An amount that was added to the pointers apart from the indices belongs to a dimension whose stride divides it: first
// to one whose bound has its opposite, then to one without a bound.
void distributeBaseOffset(StridedAccess& access) {
  for (bool toBounded : {true, false}) {
    ScalarExpr whole = access.baseOffset;
    for (const ScalarExpr::Term& term : whole.terms()) moveTerm(access, single(term), toBounded);
  }
}

}  // namespace

Value StridedAccess::memory() const {
  Value pointer = base;
  while (auto tied = pointer.getDefiningOp<dist::ConsumeTokenOp>()) pointer = tied.getValue();
  return pointer;
}

bool StridedAccess::dimsDescribeArguments() const {
  auto known = [](const std::optional<ScalarExpr>& e) { return !e || e->isOfArguments(); };
  return ScalarExpr::symbol(memory()).isOfArguments() &&
         llvm::all_of(dims, [&](const DimAccess& d) { return d.stride.isOfArguments() && known(d.wrap); });
}

std::optional<StridedAccess> StrideAnalysis::of(Value pointer, Value mask, bool severalBounds) const {
  if (!isa<RankedTensorType>(pointer.getType()) || !isa<tile::PtrType>(getElementTypeOrSelf(pointer.getType())))
    return std::nullopt;
  AffineReader reader(&axes_);
  std::optional<AffineTile> tile = reader.read(pointer);
  if (!tile || !tile->base || isa<ShapedType>(tile->base.getType()) ||
      tile->base.getType() != getElementTypeOrSelf(pointer.getType()))
    return std::nullopt;
  StridedAccess access = withoutMask(*tile);
  if (mask) {
    auto type = dyn_cast<RankedTensorType>(mask.getType());
    if (!type || type.getShape() != ArrayRef<int64_t>(tile->shape)) return std::nullopt;
    std::optional<MaskReading> reading = readMask(mask, reader, axes_);
    if (!reading) return std::nullopt;
    if (severalBounds) reading->bounds = takenApart(reading->bounds, reader, axes_);
    if (!addBounds(access, reading->bounds, severalBounds)) return std::nullopt;
    access.guards = reading->guards;
  }
  distributeBaseOffset(access);
  for (DimAccess& dim : access.dims) {
    chooseBound(dim);
    dim.nonNegative = dim.offset.isNonNegative(axes_);
  }
  return access;
}

namespace {

template <typename Access>
std::optional<StridedAccess> ofBlock(Access block, RankedTensorType tile, const AxisInfoAnalysis& axes) {
  AffineReader reader(&axes);
  std::optional<AffineTile> base = reader.read(block.getBase());
  if (!base || !base->base) return std::nullopt;
  StridedAccess access;
  access.base = base->base;
  access.baseOffset = base->rest;
  ArrayRef<int64_t> sizes = tile.getShape();
  for (auto [d, size] : llvm::enumerate(sizes)) {
    DimAccess& dim = access.dims.emplace_back();
    dim.size = size;
    dim.stride = reader.scalar(block.getStrides()[d]);
    dim.offset = reader.scalar(block.getOffsets()[d]);
    dim.nonNegative = dim.offset.isNonNegative(axes);
    if (!llvm::is_contained(block.getBoundaryCheck(), int32_t(d))) continue;
    dim.bound = reader.scalar(block.getShape()[d]);
    dim.lowerBound = ScalarExpr();
  }
  return access;
}

}  // namespace

std::optional<StridedAccess> StrideAnalysis::of(tile::BlockLoadOp load) const {
  return ofBlock(load, cast<RankedTensorType>(load.getResult().getType()), axes_);
}

std::optional<StridedAccess> StrideAnalysis::of(tile::BlockStoreOp store) const {
  return ofBlock(store, cast<RankedTensorType>(store.getValue().getType()), axes_);
}

}  // namespace tandem::analysis
