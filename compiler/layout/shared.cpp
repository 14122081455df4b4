// Buffers with a given pattern, and offsets of positions in them.
#include "compiler/layout/shared.h"
#include "compiler/layout/gf2.h"
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/Sequence.h>
#include <llvm/Support/MathExtras.h>
#include <cassert>

namespace tandem::layout {
namespace {

llvm::SmallVector<unsigned> fastestFirst(llvm::ArrayRef<unsigned> order, unsigned rank) {
  if (!order.empty()) return {order.begin(), order.end()};
  return llvm::to_vector(llvm::map_range(llvm::seq(rank), [&](unsigned i) { return rank - 1 - i; }));
}

void appendSteps(Bases& bases, const LinearLayout& frame, unsigned axis, int64_t first, int64_t end) {
  for (int64_t step = first; step < end; step *= 2) bases.push_back(uint64_t(step) << frame.axisShift(axis));
}

}  // namespace

int64_t rowBytes(Swizzle swizzle) { return int64_t(16) << static_cast<unsigned>(swizzle); }

Swizzle swizzleOfRow(int64_t bytes) {
  for (Swizzle swizzle : {Swizzle::Bytes32, Swizzle::Bytes64, Swizzle::Bytes128})
    if (rowBytes(swizzle) == bytes) return swizzle;
  return Swizzle::None;
}

Swizzle widestSwizzle(int64_t innerBytes) {
  for (Swizzle swizzle : {Swizzle::Bytes128, Swizzle::Bytes64, Swizzle::Bytes32})
    if (innerBytes >= rowBytes(swizzle)) return swizzle;
  return Swizzle::None;
}

LinearLayout plainOffsets(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<unsigned> order) {
  LinearLayout frame(shape);
  Bases bases;
  for (unsigned axis : fastestFirst(order, shape.size())) appendSteps(bases, frame, axis, 1, shape[axis]);
  return LinearLayout::ofOffsets(shape, bases);
}

LinearLayout swizzledOffsets(llvm::ArrayRef<int64_t> shape, unsigned elemBits, Swizzle swizzle,
                             llvm::ArrayRef<unsigned> order) {
  LinearLayout frame(shape);
  llvm::SmallVector<unsigned> axes = fastestFirst(order, shape.size());
  int64_t inner = shape[axes[0]], boxWidth = std::min(inner, rowBytes(swizzle) * 8 / int64_t(elemBits));
  Bases bases;
  appendSteps(bases, frame, axes[0], 1, boxWidth);
  for (unsigned axis : llvm::drop_begin(axes)) appendSteps(bases, frame, axis, 1, shape[axis]);
  appendSteps(bases, frame, axes[0], boxWidth, inner);
  // Byte address bits 4.. are XORed with bits 7..; the pattern is its own inverse.
  auto offsetBit = [&](unsigned byteBit) { return byteBit + 3 - llvm::Log2_64(elemBits); };
  for (unsigned i = 0; i < static_cast<unsigned>(swizzle); ++i) {
    unsigned line = offsetBit(7 + i), chunk = offsetBit(4 + i);
    if (line < bases.size()) bases[line] ^= bases[chunk];
  }
  return LinearLayout::ofOffsets(shape, bases);
}

LinearLayout offsetsOf(const LinearLayout& layout, const LinearLayout& offsets) {
  Span span;
  for (auto [bit, basis] : llvm::enumerate(offsets.bases(Dim::Offset))) span.insert(basis, uint64_t(1) << bit);
  LinearLayout local = layout;
  local.mutableBases(Dim::Block).clear();
  return local.mapBases({offsets.size(Dim::Offset)}, [&](uint64_t basis) {
    std::optional<uint64_t> offset = span.solve(basis);
    assert(offset && "a position without an offset");
    return offset.value_or(0);
  });
}

Bases inverse(const LinearLayout& offsets) {
  LinearLayout identity = LinearLayout(offsets.shape());
  Vectors units = unitVectors(offsets.positionBits());
  identity.mutableBases(Dim::Register).assign(units.begin(), units.end());
  LinearLayout result = offsetsOf(identity, offsets);
  return Bases(result.bases(Dim::Register));
}

}  // namespace tandem::layout
