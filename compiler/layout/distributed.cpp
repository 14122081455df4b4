// Each layout is a list of the bits that it hands out; bits of the tensor beyond them become registers.
#include "compiler/layout/distributed.h"
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/Sequence.h>
#include <llvm/Support/MathExtras.h>

namespace tandem::layout {
namespace {

llvm::SmallVector<unsigned> rowMajor(unsigned rank) {
  return llvm::to_vector(llvm::map_range(llvm::seq(rank), [&](unsigned i) { return rank - 1 - i; }));
}

// Hands the bits of coordinates to bits of hardware indices.
class Assignment {
 public:
  // `limits`: the part of each dimension that one CTA holds.
  Assignment(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> limits)
      : layout_(shape), limits_(limits.begin(), limits.end()) {}
  explicit Assignment(llvm::ArrayRef<int64_t> shape) : Assignment(shape, shape) {}

  // The next bit of `dim` is worth `step` (a power of two) along `axis`, or nothing if the tensor ends before.
  void give(Dim dim, unsigned axis, int64_t step) {
    bool inside = step < limits_[axis];
    uint64_t basis = inside ? uint64_t(step) << layout_.axisShift(axis) : 0;
    given_ |= basis;
    if (inside || dim != Dim::Register) layout_.mutableBases(dim).push_back(basis);
  }
  // Steps from `first` up to but not including `end`.
  void giveRange(Dim dim, unsigned axis, int64_t first, int64_t end) {
    for (int64_t step = first; step < end; step *= 2) give(dim, axis, step);
  }
  void repeat(Dim dim, int64_t count) { layout_.mutableBases(dim).append(llvm::Log2_64(count), 0); }
  // All that is left goes to registers.
  LinearLayout finish(llvm::ArrayRef<unsigned> order) {
    for (unsigned axis : order)
      for (int64_t step = 1; step < limits_[axis]; step *= 2)
        if ((given_ >> layout_.axisShift(axis) & step) == 0) give(Dim::Register, axis, step);
    return layout_;
  }
  LinearLayout finish() { return finish(rowMajor(layout_.rank())); }

 private:
  LinearLayout layout_;
  llvm::SmallVector<int64_t> limits_;
  uint64_t given_ = 0;
};

constexpr unsigned kWordBits = 32;

}  // namespace

LinearLayout blocked(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> sizePerThread,
                     llvm::ArrayRef<int64_t> threadsPerWarp, llvm::ArrayRef<int64_t> warpsPerCta,
                     llvm::ArrayRef<unsigned> order, llvm::ArrayRef<int64_t> ctasPerCluster) {
  llvm::SmallVector<int64_t> limits(shape.begin(), shape.end());
  for (auto [limit, ctas] : llvm::zip(limits, ctasPerCluster)) limit = std::max<int64_t>(1, limit / ctas);
  Assignment assignment(shape, limits);
  llvm::SmallVector<int64_t> reached(shape.size(), 1);
  std::pair<Dim, llvm::ArrayRef<int64_t>> levels[] = {
      {Dim::Register, sizePerThread}, {Dim::Lane, threadsPerWarp}, {Dim::Warp, warpsPerCta}};
  for (auto [dim, counts] : levels) {
    for (unsigned axis : order) {
      assignment.giveRange(dim, axis, reached[axis], reached[axis] * counts[axis]);
      reached[axis] *= counts[axis];
    }
  }
  LinearLayout layout = assignment.finish(order);
  if (ctasPerCluster.empty()) return layout;
  for (unsigned axis : order) {
    for (int64_t step = limits[axis]; step < limits[axis] * ctasPerCluster[axis]; step *= 2)
      layout.mutableBases(Dim::Block).push_back(step < shape[axis] ? uint64_t(step) << layout.axisShift(axis) : 0);
  }
  return layout;
}

LinearLayout defaultBlocked(llvm::ArrayRef<int64_t> shape, unsigned elemBits, ThreadCounts threads,
                            llvm::ArrayRef<unsigned> order) {
  llvm::SmallVector<unsigned> fastestFirst(order.begin(), order.end());
  if (order.empty()) fastestFirst = rowMajor(shape.size());
  LinearLayout layout(shape);
  llvm::SmallVector<uint64_t> bits;
  for (unsigned axis : fastestFirst)
    for (int64_t step = 1; step < shape[axis]; step *= 2) bits.push_back(uint64_t(step) << layout.axisShift(axis));
  size_t laneBits = llvm::Log2_64(threads.lanes), threadBits = llvm::Log2_64(threads.count());
  size_t vectorBits = elemBits < 128 ? llvm::Log2_64(128 / elemBits) : 0;
  if (!shape.empty()) vectorBits = std::min<size_t>(vectorBits, llvm::Log2_64(shape[fastestFirst[0]]));
  vectorBits = std::min(vectorBits, bits.size() > threadBits ? bits.size() - threadBits : 0);
  auto take = [&](Dim dim, size_t first, size_t count) {
    for (size_t i = first; i < first + count; ++i) layout.mutableBases(dim).push_back(i < bits.size() ? bits[i] : 0);
  };
  take(Dim::Register, 0, vectorBits);
  take(Dim::Lane, vectorBits, laneBits);
  take(Dim::Warp, vectorBits + laneBits, threadBits - laneBits);
  if (bits.size() > vectorBits + threadBits)
    take(Dim::Register, vectorBits + threadBits, bits.size() - vectorBits - threadBits);
  return layout;
}

// Warps of their own for the matrices of a batch, the last dimension's first.
static void giveBatches(Assignment& a, llvm::ArrayRef<int64_t> shape, int64_t warps) {
  for (unsigned axis = shape.size() - 2; axis-- > 0 && warps > 1;) {
    int64_t count = std::min(warps, shape[axis]);
    a.giveRange(Dim::Warp, axis, 1, count);
    warps /= count;
  }
  a.repeat(Dim::Warp, warps);
}

LinearLayout mmaV2Result(llvm::ArrayRef<int64_t> shape, WarpGrid warps) {
  unsigned m = shape.size() - 2, n = shape.size() - 1;
  Assignment a(shape);
  a.give(Dim::Register, n, 1);
  a.give(Dim::Register, m, 8);
  a.giveRange(Dim::Lane, n, 2, 8);
  a.giveRange(Dim::Lane, m, 1, 8);
  a.giveRange(Dim::Warp, n, 8, 8 * warps.n);
  a.giveRange(Dim::Warp, m, 16, 16 * warps.m);
  giveBatches(a, shape, warps.batch);
  return a.finish();
}

LinearLayout dotOperandA(llvm::ArrayRef<int64_t> shape, unsigned elemBits, WarpGrid warps) {
  unsigned m = shape.size() - 2, k = shape.size() - 1;
  int64_t inWord = kWordBits / elemBits;
  Assignment a(shape);
  a.giveRange(Dim::Register, k, 1, inWord);
  a.give(Dim::Register, m, 8);
  a.give(Dim::Register, k, 4 * inWord);
  a.giveRange(Dim::Lane, k, inWord, 4 * inWord);
  a.giveRange(Dim::Lane, m, 1, 8);
  a.repeat(Dim::Warp, warps.n);
  a.giveRange(Dim::Warp, m, 16, 16 * warps.m);
  giveBatches(a, shape, warps.batch);
  return a.finish();
}

LinearLayout dotOperandB(llvm::ArrayRef<int64_t> shape, unsigned elemBits, WarpGrid warps) {
  unsigned k = shape.size() - 2, n = shape.size() - 1;
  int64_t inWord = kWordBits / elemBits;
  Assignment a(shape);
  a.giveRange(Dim::Register, k, 1, inWord);
  a.give(Dim::Register, k, 4 * inWord);
  a.giveRange(Dim::Lane, k, inWord, 4 * inWord);
  a.giveRange(Dim::Lane, n, 1, 8);
  a.giveRange(Dim::Warp, n, 8, 8 * warps.n);
  a.repeat(Dim::Warp, warps.m);
  giveBatches(a, shape, warps.batch);
  llvm::SmallVector<unsigned> alongKFirst = {k, n};
  for (unsigned batch = k; batch-- > 0;) alongKFirst.push_back(batch);
  return a.finish(alongKFirst);
}

LinearLayout wgmmaResult(llvm::ArrayRef<int64_t> shape, WarpGrid warps, int64_t instrN) {
  unsigned m = shape.size() - 2, n = shape.size() - 1;
  Assignment a(shape);
  a.give(Dim::Register, n, 1);
  a.give(Dim::Register, m, 8);
  a.giveRange(Dim::Register, n, 8, instrN);
  a.giveRange(Dim::Lane, n, 2, 8);
  a.giveRange(Dim::Lane, m, 1, 8);
  a.giveRange(Dim::Warp, m, 16, 16 * warps.m);
  a.giveRange(Dim::Warp, n, instrN, instrN * warps.n);
  return a.finish();
}

LinearLayout wgmmaOperandA(llvm::ArrayRef<int64_t> shape, unsigned elemBits, WarpGrid warps) {
  unsigned m = shape.size() - 2, k = shape.size() - 1;
  int64_t inWord = kWordBits / elemBits;
  Assignment a(shape);
  a.giveRange(Dim::Register, k, 1, inWord);
  a.give(Dim::Register, m, 8);
  a.give(Dim::Register, k, 4 * inWord);
  a.giveRange(Dim::Lane, k, inWord, 4 * inWord);
  a.giveRange(Dim::Lane, m, 1, 8);
  a.giveRange(Dim::Warp, m, 16, 16 * warps.m);
  a.repeat(Dim::Warp, warps.n);
  return a.finish();
}

}  // namespace tandem::layout
