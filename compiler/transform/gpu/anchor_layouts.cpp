// Anchors.
#include "compiler/transform/gpu/anchor_layouts.h"
#include "compiler/analysis/usual_steps.h"
#include "compiler/dialect/tile/tile.h"
#include "compiler/layout/distributed.h"
#include <llvm/Support/MathExtras.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <numeric>

namespace tandem::transform::gpu {
using namespace mlir;
using layout::Dim;
using layout::LinearLayout;
namespace {

constexpr int64_t kLineBytes = 128;

// Blocked, `vector` elements a thread along the fastest dimension, lanes and then warps filling the dimensions in
// `order`.
LinearLayout blockedAlong(ArrayRef<int64_t> shape, ArrayRef<unsigned> order, int64_t vector,
                          layout::ThreadCounts threads) {
  SmallVector<int64_t> perThread(shape.size(), 1), lanes(shape.size(), 1), warps(shape.size(), 1);
  perThread[order[0]] = vector;
  auto fill = [&](SmallVector<int64_t>& into, int64_t count) {
    for (unsigned d : order) {
      int64_t room = std::max<int64_t>(1, shape[d] / (perThread[d] * lanes[d] * warps[d]));
      int64_t take = std::min(count, room);
      into[d] *= take;
      count /= take;
    }
    into[order.back()] *= count;
  };
  fill(lanes, threads.lanes);
  fill(warps, threads.warps);
  return layout::blocked(shape, perThread, lanes, warps, order);
}

int64_t bytesOf(Type element) {
  return isa<tile::PtrType>(element) ? 8 : std::max<int64_t>(1, element.getIntOrFloatBitWidth() / 8);
}

// How far apart neighbours along `dim` may well be, up to a number that stands for far. What is unknown of a step is that
// it is a multiple of a large number: strides are multiples of those of the dimensions inside.
int64_t usualDistance(Value pointers, unsigned dim, const analysis::AxisInfoAnalysis& axes) {
  constexpr int64_t kFar = 16, kPerhapsFar = 8;
  std::optional<analysis::UsualStep> step = analysis::usualStep(pointers, dim, axes, true);
  if (!step || step->size == 0) return kFar;
  return std::min(kFar, step->isExact ? std::abs(step->size) : std::max(kPerhapsFar, step->size));
}

bool multipliesBatches(Value tile) {
  auto isBatched = [](tile::DotOp dot) {
    return cast<RankedTensorType>(dot.getType()).getRank() > 2 ? WalkResult::interrupt() : WalkResult::advance();
  };
  return tile.getParentRegion()->getParentOfType<func::FuncOp>().walk(isBatched).wasInterrupted();
}

}  // namespace

Coalescing coalesced(Value pointers, Value mask, const analysis::AxisInfoAnalysis& axes, layout::ThreadCounts threads,
                     bool whole, int64_t together) {
  auto type = cast<RankedTensorType>(pointers.getType());
  SmallVector<unsigned> order(type.getRank());
  std::iota(order.begin(), order.end(), 0);
  const analysis::AxisInfo& info = axes.of(pointers);
  auto rating = [&](unsigned d) {
    return std::tuple(info.contiguity(d), info.contiguity(d) == 1 ? -usualDistance(pointers, d, axes) : 0, d);
  };
  llvm::sort(order, [&](unsigned a, unsigned b) { return rating(a) > rating(b); });
  int64_t element = bytesOf(cast<tile::PtrType>(type.getElementType()).getPointee());
  // In a kernel that multiplies batches, a tile whose rows are whole lines gives its lanes and warps matrices before rows:
  // a warp has matrices of its own, and a thread the addresses of few of them.
  if (order.size() > 2 && info.contiguity(order[0]) * element >= kLineBytes && multipliesBatches(pointers))
    llvm::sort(order.begin() + 1, order.end(), [&](unsigned a, unsigned b) {
      return std::pair(-info.contiguity(a), a) < std::pair(-info.contiguity(b), b);
    });
  int64_t vector = std::min<int64_t>(axes.maxVectorElements(pointers, mask, order[0]), 16 / element);
  int64_t most = type.getDimSize(order[0]);
  if (!whole) most = std::min(most, std::max<int64_t>(1, type.getNumElements() / threads.count()));
  vector = std::min(vector, most);
  return {blockedAlong(type.getShape(), order, std::min(together ? together : vector, most), threads), vector,
          order[0]};
}

SmallVector<unsigned> fastestFirst(unsigned rank, unsigned axis) {
  SmallVector<unsigned> order{axis};
  for (unsigned d = rank; d-- > 0;)
    if (d != axis) order.push_back(d);
  return order;
}

LinearLayout copiedBlock(RankedTensorType type, int64_t vector, unsigned axis, layout::ThreadCounts threads) {
  return blockedAlong(type.getShape(), fastestFirst(type.getRank(), axis), vector, threads);
}

LinearLayout copiedByGroups(RankedTensorType type, int64_t vector, layout::ThreadCounts threads) {
  constexpr int64_t kWarps = 4, kRows = 64;
  int64_t columns = type.getDimSize(1);
  LinearLayout one = blockedAlong({kRows, columns}, {1, 0}, vector, {threads.lanes, kWarps});
  layout::Bases registers(one.bases(Dim::Register)), warps(one.bases(Dim::Warp));
  for (int64_t rows = kRows; rows < type.getDimSize(0); rows *= 2)
    (rows < kRows * threads.warps / kWarps ? warps : registers).push_back(rows * columns);
  return LinearLayout(type.getShape(), registers, layout::Bases(one.bases(Dim::Lane)), warps);
}

std::optional<LinearLayout> coalescedInWarps(const LinearLayout& computed, const Coalescing& best,
                                             int64_t elementBytes) {
  uint64_t kept = 0;
  for (uint64_t basis : computed.bases(Dim::Warp)) {
    if (!llvm::has_single_bit(basis)) return std::nullopt;
    kept |= basis;
  }
  uint64_t axis = computed.axisMask(best.axis), all = uint64_t(computed.numElements()) - 1;
  int64_t run = 1;
  for (uint64_t bit = uint64_t(1) << computed.axisShift(best.axis); bit & axis & ~kept; bit *= 2) run *= 2;
  if (run * elementBytes < kLineBytes) return std::nullopt;
  SmallVector<uint64_t> bits;  // of the warp's part: first along the axis
  for (uint64_t part : {axis & ~kept, all & ~axis & ~kept})
    for (; part; part &= part - 1) bits.push_back(part & -part);
  size_t inWord = llvm::Log2_64(best.neighbours), inThreads = inWord + llvm::Log2_64(computed.numLanes());
  if (bits.size() < inThreads) return std::nullopt;
  auto range = [&](size_t from, size_t to) { return layout::Bases(bits.begin() + from, bits.begin() + to); };
  layout::Bases registers = range(0, inWord), warps(computed.bases(Dim::Warp));
  registers.append(bits.begin() + inThreads, bits.end());
  return LinearLayout(computed.shape(), registers, range(inWord, inThreads), warps);
}

namespace {

// Returns the number of neighbours that each thread moves at once if lanes side by side have whole sectors of memory,
// or as many bytes as with the best layout; zero if they have less.
int64_t wordOf(const LinearLayout& layout, const Coalescing& best, int64_t bytes) {
  constexpr int64_t kSectorBytes = 32;
  if (layout.freeMask(Dim::Lane) || layout.freeMask(Dim::Warp)) return 0;
  unsigned shift = layout.axisShift(best.axis);
  auto grow = [&](int64_t from, int64_t limit, Dim dim) {
    while (from < limit && llvm::is_contained(layout.bases(dim), uint64_t(from) << shift)) from *= 2;
    return from;
  };
  int64_t word = grow(1, best.neighbours, Dim::Register), run = grow(word, layout.shape()[best.axis], Dim::Lane);
  bool isWhole = run * bytes >= kSectorBytes || (word == best.neighbours && run > word);
  return word > 1 && isWhole ? word : 0;
}

// The same with a word's elements in neighbouring registers.
LinearLayout inWords(LinearLayout layout, unsigned axis, int64_t word) {
  unsigned shift = layout.axisShift(axis);
  auto isInWord = [&](uint64_t basis) {
    return basis >> shift && basis >> shift < uint64_t(word) && !(basis & (basis - 1));
  };
  layout::Bases& registers = layout.mutableBases(Dim::Register);
  layout::Bases inWord, others;
  for (uint64_t basis : registers) (isInWord(basis) ? inWord : others).push_back(basis);
  llvm::sort(inWord);
  llvm::append_range(inWord, others);
  registers = inWord;
  return layout;
}

}  // namespace

std::optional<LinearLayout> nearby(const LinearLayout& computed, const Coalescing& best, int64_t bytes) {
  if (int64_t word = wordOf(computed, best, bytes)) return inWords(computed, best.axis, word);
  return coalescedInWarps(computed, best, bytes);
}

Coalescing coalescedBlock(RankedTensorType type, ValueRange strides, layout::ThreadCounts threads, int64_t together) {
  SmallVector<unsigned> order(type.getRank());
  std::iota(order.rbegin(), order.rend(), 0);
  auto* inner = llvm::find_if(
      order, [&](unsigned d) { return !strides.empty() && getConstantIntValue(strides[d]) == int64_t(1); });
  if (inner != order.end()) std::rotate(order.begin(), inner, inner + 1);
  int64_t most = std::min(type.getDimSize(order[0]), std::max<int64_t>(1, type.getNumElements() / threads.count()));
  int64_t vector = std::min<int64_t>(16 / bytesOf(type.getElementType()), most);
  return {blockedAlong(type.getShape(), order, std::min(together ? together : vector, most), threads), vector,
          order[0]};
}

LinearLayout patches(ArrayRef<int64_t> shape, layout::ThreadCounts threads, Together together) {
  constexpr int64_t kNeighbours = 4;
  unsigned rank = shape.size();
  int64_t m = shape[rank - 2], n = shape[rank - 1];
  // The division among lanes and warps with the fewest results of a thread, of those the one with the fewest reads for
  // four steps along K.
  struct Division {
    int64_t laneRows, warpRows, results, reads;
  };
  std::optional<Division> best;
  for (int64_t laneColumns : {threads.lanes / 4, threads.lanes / 8, threads.lanes / 2, threads.lanes})
    for (int64_t warpRows = threads.warps; warpRows >= 1; warpRows /= 2) {
      int64_t laneRows = threads.lanes / laneColumns, warpColumns = threads.warps / warpRows;
      int64_t rows = std::max<int64_t>(1, m / (laneRows * warpRows)),
              columns = std::max<int64_t>(1, n / (laneColumns * warpColumns));
      auto reads = [&](int64_t count, bool areTogether) { return areTogether ? std::max(count, kNeighbours) : count; };
      Division now{laneRows, warpRows, rows * columns, reads(rows, together.rows) + reads(columns, together.columns)};
      if (!best || std::pair(now.results, now.reads) < std::pair(best->results, best->reads)) best = now;
    }
  SmallVector<int64_t> perThread(rank, 1), lanes(rank, 1), warps(rank, 1);
  lanes[rank - 2] = best->laneRows;
  lanes[rank - 1] = threads.lanes / best->laneRows;
  warps[rank - 2] = best->warpRows;
  warps[rank - 1] = threads.warps / best->warpRows;
  auto neighbours = [&](bool areTogether, unsigned d) {
    return areTogether ? std::clamp<int64_t>(shape[d] / (lanes[d] * warps[d]), 1, kNeighbours) : 1;
  };
  perThread[rank - 2] = neighbours(together.rows, rank - 2);
  perThread[rank - 1] = neighbours(together.columns, rank - 1);
  SmallVector<unsigned> order(rank);
  std::iota(order.rbegin(), order.rend(), 0);
  LinearLayout layout = layout::blocked(shape, perThread, lanes, warps, order);
  // Lanes 0 and 1 have a column in common, and lanes 0 and 2 a row: then half a warp is served at once with 16 bytes for each
  // lane.
  layout::Bases& bits = layout.mutableBases(Dim::Lane);
  size_t ofColumns = llvm::Log2_64(lanes[rank - 1]);
  if (ofColumns < bits.size()) std::rotate(bits.begin(), bits.begin() + ofColumns, bits.begin() + ofColumns + 1);
  return layout;
}

}  // namespace tandem::transform::gpu
