// The map itself: positions, coordinates, copies.
#include "compiler/layout/linear_layout.h"
#include "compiler/layout/gf2.h"
#include <llvm/Support/MathExtras.h>

namespace tandem::layout {

llvm::StringRef name(Dim dim) {
  static constexpr llvm::StringLiteral names[kDimCount] = {"register", "lane", "warp", "block", "offset"};
  return names[static_cast<unsigned>(dim)];
}

LinearLayout::LinearLayout(llvm::ArrayRef<int64_t> shape, Bases registers, Bases lanes, Bases warps, Bases blocks)
    : shape_(shape.begin(), shape.end()),
      bases_{std::move(registers), std::move(lanes), std::move(warps), std::move(blocks), Bases()} {}

LinearLayout LinearLayout::ofOffsets(llvm::ArrayRef<int64_t> shape, Bases offsets) {
  LinearLayout result(shape);
  result.mutableBases(Dim::Offset) = std::move(offsets);
  return result;
}

int64_t LinearLayout::numElements() const {
  int64_t count = 1;
  for (int64_t size : shape_) count *= size;
  return count;
}

unsigned LinearLayout::positionBits() const { return llvm::Log2_64(numElements()); }

uint64_t LinearLayout::apply(Dim dim, uint64_t index) const { return combine(bases(dim), index); }

uint64_t LinearLayout::apply(uint64_t register_, uint64_t lane, uint64_t warp, uint64_t block) const {
  return apply(Dim::Register, register_) ^ apply(Dim::Lane, lane) ^ apply(Dim::Warp, warp) ^ apply(Dim::Block, block);
}

llvm::SmallVector<int64_t> LinearLayout::coordinates(uint64_t position) const {
  llvm::SmallVector<int64_t> result(rank());
  for (unsigned axis = rank(); axis-- > 0;) {
    result[axis] = position & (shape_[axis] - 1);
    position >>= llvm::Log2_64(shape_[axis]);
  }
  return result;
}

uint64_t LinearLayout::position(llvm::ArrayRef<int64_t> coordinates) const {
  uint64_t result = 0;
  for (unsigned axis = 0; axis < rank(); ++axis) result = result << llvm::Log2_64(shape_[axis]) | coordinates[axis];
  return result;
}

unsigned LinearLayout::axisShift(unsigned axis) const {
  unsigned shift = 0;
  for (unsigned a = axis + 1; a < rank(); ++a) shift += llvm::Log2_64(shape_[a]);
  return shift;
}

uint64_t LinearLayout::axisMask(unsigned axis) const { return uint64_t(shape_[axis] - 1) << axisShift(axis); }

bool LinearLayout::isInjective() const {
  for (unsigned d = 0; d < kDimCount; ++d)
    if (freeMask(Dim(d)) != 0) return false;
  return true;
}

bool LinearLayout::isSurjective() const {
  Span span;
  for (const Bases& bases : bases_) span.insertAll(bases);
  return span.dimension() == positionBits();
}

uint64_t LinearLayout::freeMask(Dim dim) const {
  Span span;
  for (unsigned d = 0; d < static_cast<unsigned>(dim); ++d) span.insertAll(bases_[d]);
  uint64_t mask = 0;
  for (auto [bit, basis] : llvm::enumerate(bases(dim)))
    if (!span.insert(basis)) mask |= uint64_t(1) << bit;
  return mask;
}

LinearLayout LinearLayout::withoutZeroBases(Dim dim) const {
  LinearLayout result = *this;
  llvm::erase(result.mutableBases(dim), 0);
  return result;
}

LinearLayout LinearLayout::withShape(llvm::ArrayRef<int64_t> shape) const {
  LinearLayout result = *this;
  result.shape_.assign(shape.begin(), shape.end());
  return result;
}

}  // namespace tandem::layout
