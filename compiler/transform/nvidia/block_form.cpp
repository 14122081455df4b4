// This file proves what each dimension of a block needs, then makes the ops that compute the block.
#include "compiler/transform/nvidia/block_form.h"
#include <mlir/Dialect/Arith/IR/Arith.h>

namespace tandem::transform::nvidia {
using namespace mlir;
using analysis::AxisInfoAnalysis;
using analysis::DimAccess;
using analysis::ScalarExpr;
namespace {

constexpr int64_t kAlignment = 16;  // of a base and of strides, in bytes
constexpr int64_t kMaxExtent = (int64_t(1) << 31) - 1;

// A divisor of the bytes that the term stands for.
int64_t bytesBehind(const ScalarExpr::Term& term, int64_t bytes, const AxisInfoAnalysis& axes) {
  int64_t divisor = std::min(kAlignment, term.factor & -term.factor);
  for (Value symbol : term.symbols) divisor = std::min(kAlignment, divisor * axes.of(symbol).divisibility(0));
  return divisor * bytes;
}

// Negative multiples are left out too: they walk backwards.
bool isAligned(const ScalarExpr& elements, int64_t bytes, const AxisInfoAnalysis& axes) {
  return !elements.isZero() && llvm::all_of(elements.terms(), [&](const ScalarExpr::Term& term) {
    return term.factor > 0 && bytesBehind(term, bytes, axes) % kAlignment == 0;
  });
}

// A number or a 32-bit argument, so that every place inside fits the coordinates of TMA.
bool isExtent(const ScalarExpr& extent) {
  if (std::optional<int64_t> number = extent.constant()) return *number > 0 && *number <= kMaxExtent;
  const ScalarExpr::Term& term = extent.terms()[0];
  return extent.terms().size() == 1 && term.factor == 1 && term.symbols.size() == 1 &&
         term.symbols[0].getType().isInteger(32);
}

// Returns the end of the tensor in one dimension.
std::optional<ScalarExpr> extentOf(const DimAccess& dim) {
  if (dim.lowerBound && !dim.lowerBound->isZero()) return std::nullopt;
  if (!dim.nonNegative && !dim.lowerBound) return std::nullopt;
  if (dim.wrap && dim.bound && !(*dim.wrap == *dim.bound)) return std::nullopt;
  if (dim.wrap) return dim.wrap;
  if (dim.bound) return dim.bound;
  // Always the same places, and all of them are accessed.
  if (std::optional<int64_t> offset = dim.offset.constant()) return ScalarExpr(*offset + dim.size);
  return ScalarExpr(kMaxExtent);
}

int64_t divisorOf(const ScalarExpr& extent, const AxisInfoAnalysis& axes) {
  if (extent.constant()) return 1;
  return std::min(kAlignment, axes.of(extent.terms()[0].symbols[0]).divisibility(0));
}

// The term as a stride that arguments decide, times the rest.
OuterDim split(const ScalarExpr::Term& term) {
  OuterDim dim{term.factor, 1};
  for (Value v : term.symbols) {
    ScalarExpr symbol = ScalarExpr::symbol(v);
    ScalarExpr& to = symbol.isOfArguments() ? dim.stride : dim.offset;
    to = to * symbol;
  }
  return dim;
}

void addOuter(SmallVectorImpl<OuterDim>& dims, const OuterDim& added) {
  for (OuterDim& dim : dims)
    if (dim.stride == added.stride) {
      dim.offset = dim.offset + added.offset;
      return;
    }
  dims.push_back(added);
}

// Turns the offset that programs add to the base into dimensions of a larger tensor. A map has five dimensions.
bool distribute(const ScalarExpr& baseOffset, int64_t bytes, const AxisInfoAnalysis& axes, BlockForm& form) {
  constexpr size_t kMaxOuter = 3;
  for (const ScalarExpr::Term& term : baseOffset.terms()) {
    OuterDim dim = split(term);
    if (!(dim.offset == ScalarExpr(1))) {
      addOuter(form.outer, dim);
      continue;
    }
    if (bytesBehind(term, bytes, axes) % kAlignment) return false;
    form.shift = form.shift + dim.stride;
  }
  return form.outer.size() <= kMaxOuter && llvm::all_of(form.outer, [&](const OuterDim& dim) {
           return isAligned(dim.stride, bytes, axes) && dim.offset.isNonNegative(axes);
         });
}

class Builder {
 public:
  Builder(OpBuilder& builder, Location where) : b_(builder), where_(where) {}

  Value number(int64_t value, Type type) {
    return arith::ConstantOp::create(b_, where_, b_.getIntegerAttr(type, value));
  }
  Value wide(const ScalarExpr& e) { return e.build(b_, where_, b_.getI64Type()); }

  // A map has no empty dimensions. Where the argument is not positive, `offset` keeps away from the place this makes
  // up.
  Value extent(const ScalarExpr& e, int64_t divisor) {
    if (e.constant()) return wide(e);
    return arith::MaxSIOp::create(b_, where_, wide(e), number(divisor, b_.getI64Type()));
  }

  Value least(const ScalarExpr& e, ArrayRef<ScalarExpr> others) {
    Value end = wide(e);
    for (const ScalarExpr& other : others) end = arith::MinSIOp::create(b_, where_, end, wide(other));
    return end;
  }

  // The offset is computed wide, as the addresses were; one that does not fit 32 bits is outside, and so is everything
  // of an empty tensor.
  Value offset(const ScalarExpr& e, const ScalarExpr& extent) {
    if (e.constant() && extent.constant()) return number(*e.constant(), b_.getI32Type());
    Value whole = wide(e);
    Value low = arith::TruncIOp::create(b_, where_, b_.getI32Type(), whole);
    Value again = arith::ExtSIOp::create(b_, where_, b_.getI64Type(), low);
    Value fits = arith::CmpIOp::create(b_, where_, arith::CmpIPredicate::eq, again, whole);
    if (!extent.constant()) {
      Value some =
          arith::CmpIOp::create(b_, where_, arith::CmpIPredicate::sgt, wide(extent), number(0, b_.getI64Type()));
      fits = arith::AndIOp::create(b_, where_, some, fits);
    }
    Value outside = number(std::numeric_limits<int32_t>::min(), b_.getI32Type());
    return arith::SelectOp::create(b_, where_, fits, low, outside);
  }

 private:
  OpBuilder& b_;
  Location where_;
};

}  // namespace

RankedTensorType BlockForm::inMemory(RankedTensorType tile) const {
  if (!isFlipped) return tile;
  return RankedTensorType::get({tile.getDimSize(1), tile.getDimSize(0)}, tile.getElementType());
}

RankedTensorType BlockForm::block(RankedTensorType tile) const {
  SmallVector<int64_t> shape(outer.size(), 1);
  llvm::append_range(shape, inMemory(tile).getShape());
  return RankedTensorType::get(shape, tile.getElementType());
}

llvm::SmallVector<int32_t, 5> BlockForm::allDims() const {
  return llvm::to_vector<5>(llvm::seq<int32_t>(0, int32_t(outer.size() + 2)));
}

// Returns why the access as a whole is no block; nothing if it may be one.
static std::optional<remark::Reason> whyNoBlock(const std::optional<analysis::StridedAccess>& access,
                                                const AxisInfoAnalysis& axes) {
  using remark::Reason;
  if (!access || access->dims.size() != 2)
    return Reason{"its addresses are no block of a matrix",
                  "pointer + rows * stride + columns, each of tl.arange, and a mask of bounds"};
  if (!access->dimsDescribeArguments())
    return Reason{"its pointer or strides depend on more than the kernel's arguments", ""};
  if (!access->guards.empty())
    return Reason{"its mask has a condition that is no bound of rows or columns", "a branch for that condition"};
  if (axes.of(access->base).divisibility(0) < kAlignment)
    return Reason{"its pointer is not known to be a multiple of 16 bytes", "an aligned tensor"};
  return std::nullopt;
}

static std::optional<BlockForm> formOf(std::optional<analysis::StridedAccess> access, Type pointer,
                                       const AxisInfoAnalysis& axes, remark::Reason& why) {
  auto fail = [&](remark::Reason reason) {
    why = std::move(reason);
    return std::nullopt;
  };
  if (std::optional<remark::Reason> reason = whyNoBlock(access, axes)) return fail(*reason);
  BlockForm form;
  int64_t bytes = analysis::pointeeBytes(pointer);
  auto isUnit = [&](unsigned d) { return access->dims[d].stride.constant() == 1; };
  form.isFlipped = isUnit(0);
  if (!isUnit(form.isFlipped ? 0 : 1))
    return fail({"neither rows nor columns are known to be contiguous", "a stride that is the constant 1"});
  if (!isAligned(access->dims[form.isFlipped ? 1 : 0].stride, bytes, axes))
    return fail({"the stride between its rows is not known to be a multiple of 16 bytes",
                 "padded rows, tl.multiple_of for the stride"});
  if (!distribute(access->baseOffset, bytes, axes, form))
    return fail({"what is added to its pointer is not known to be a multiple of 16 bytes", "tl.multiple_of for it"});
  for (const DimAccess& dim : access->dims) {
    if (!dim.nonNegative && !dim.lowerBound)
      return fail({"its first row or column is not known to be 0 or more", "tl.maximum(start, 0)"});
    std::optional<ScalarExpr> extent = extentOf(dim);
    bool isOfKernel = extent && !extent->isOfArguments();
    form.isMade |= isOfKernel;
    if (!extent || (!isOfKernel && !isExtent(*extent)))
      return fail({"its mask is not known to be the bounds of a tensor", "bounds that are 32-bit arguments"});
    form.extents.push_back(*extent);
    form.divisors.push_back(isOfKernel ? 1 : divisorOf(*extent, axes));
    form.wraps.push_back(dim.wrap && !dim.bound);
  }
  form.access = std::move(*access);
  return form;
}

std::optional<BlockForm> blockForm(Value pointer, Value mask, const AxisInfoAnalysis& axes, remark::Reason& why) {
  return formOf(analysis::StrideAnalysis(axes).of(pointer, mask, true), pointer.getType(), axes, why);
}

std::optional<BlockForm> blockForm(tile::BlockLoadOp load, const AxisInfoAnalysis& axes, remark::Reason& why) {
  return formOf(analysis::StrideAnalysis(axes).of(load), load.getBase().getType(), axes, why);
}

BlockOperands buildOperands(const BlockForm& form, OpBuilder& builder, Location where) {
  Builder b(builder, where);
  BlockOperands out;
  out.base = form.access.base;
  if (!form.shift.isZero())
    out.base = tile::AddPtrOp::create(builder, where, out.base.getType(), out.base, b.wide(form.shift));
  for (const OuterDim& dim : form.outer) {
    out.shape.push_back(b.wide(kMaxExtent));
    out.strides.push_back(b.wide(dim.stride));
    out.offsets.push_back(b.offset(dim.offset, kMaxExtent));
  }
  for (unsigned i : {0u, 1u}) {
    unsigned d = form.isFlipped ? 1 - i : i;
    const DimAccess& dim = form.access.dims[d];
    out.shape.push_back(form.isMade ? b.least(form.extents[d], dim.alsoBelow)
                                    : b.extent(form.extents[d], form.divisors[d]));
    out.strides.push_back(b.wide(dim.stride));
    // A map that the kernel makes has its own guard against an empty tensor, so its offsets need no extent.
    out.offsets.push_back(b.offset(dim.offset, form.isMade ? ScalarExpr(kMaxExtent) : form.extents[d]));
  }
  return out;
}

}  // namespace tandem::transform::nvidia
