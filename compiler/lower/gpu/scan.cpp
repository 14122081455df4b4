// tile.scan: every thread scans its neighbouring registers; then, bit by bit of the position along the axis, the sum
// before each half of a block comes from the other half: from other registers, from lanes by shuffles, from warps
// through shared memory.
#include "compiler/lower/nvidia/kernel_lowering.h"

namespace tandem::lower::nvidia {
using namespace mlir;
using layout::Dim;
using layout::LinearLayout;
namespace {

// A bit of a hardware index that counts a bit of the position along the axis.
struct Place {
  Dim dim;
  unsigned bit;
};

SmallVector<Place> placesAlong(const LinearLayout& layout, unsigned axis) {
  SmallVector<Place> out;
  for (uint64_t basis = uint64_t(1) << layout.axisShift(axis); basis & layout.axisMask(axis); basis <<= 1)
    for (Dim dim : {Dim::Register, Dim::Lane, Dim::Warp})
      for (auto [bit, held] : llvm::enumerate(layout.bases(dim)))
        if (held == basis) out.push_back({dim, static_cast<unsigned>(bit)});
  return out;
}

}  // namespace

void KernelLowering::lowerScan(tile::ScanOp op) {
  Rows rows;
  LinearLayout layout = rowsOf(op.getSources(), rows);
  SmallVector<Place> places = placesAlong(layout, op.getAxis());
  bool reverse = op.getReverse();
  // The lowest bits, while they are registers, make chunks that one thread scans alone.
  SmallVector<size_t> chunk{0};
  auto rest = llvm::find_if(places, [](const Place& p) { return p.dim != Dim::Register; });
  size_t inChunk = 0;
  for (auto p = places.begin(); p != rest; ++p) {
    for (size_t i = 0, n = chunk.size(); i < n; ++i) chunk.push_back(chunk[i] | size_t(1) << p->bit);
    inChunk |= size_t(1) << p->bit;
  }
  if (reverse) std::reverse(chunk.begin(), chunk.end());

  std::vector<Chunk> chunks;
  for (size_t r = 0; r < rows.size(); ++r) {
    if (r & inChunk) continue;
    for (size_t i = 1; i < chunk.size(); ++i)
      rows[r | chunk[i]] = combine(op.getCombine(), rows[r | chunk[i - 1]], rows[r | chunk[i]]);
    Regs total = rows[r | chunk.back()];
    chunks.push_back({r, total, total, nullptr});
  }
  for (auto p = rest; p != places.end(); ++p) {
    if (p->dim == Dim::Register)
      scanRegisters(op, chunks, size_t(1) << p->bit);
    else
      scanThreads(op, chunks, p->dim == Dim::Lane, p->bit);
  }
  for (const Chunk& c : chunks)
    for (size_t i : c.hasBefore ? ArrayRef<size_t>(chunk) : ArrayRef<size_t>()) {
      Regs& row = rows[c.first | i];
      row = choose(c.hasBefore, combine(op.getCombine(), c.before, row), row);
    }
  defineRows(op, rows, layout);
}

Regs KernelLowering::choose(llvm::Value* condition, const Regs& then, const Regs& otherwise) {
  Regs out;
  for (auto [a, b] : llvm::zip(then, otherwise)) out.push_back(b_.CreateSelect(condition, a, b));
  return out;
}

// Returns the sum before a chunk when `earlier` comes in front of the sum known so far.
Regs KernelLowering::withEarlier(tile::ScanOp op, const Chunk& chunk, const Regs& earlier) {
  if (!chunk.hasBefore) return earlier;
  return choose(chunk.hasBefore, combine(op.getCombine(), earlier, chunk.before), earlier);
}

// Chunks of one thread whose registers differ in `bit`.
void KernelLowering::scanRegisters(tile::ScanOp op, std::vector<Chunk>& chunks, size_t bit) {
  auto at = [&](size_t first) -> Chunk& { return *llvm::find_if(chunks, [&](const Chunk& c) { return c.first == first; }); };
  for (Chunk& low : chunks) {
    if (low.first & bit) continue;
    Chunk& high = at(low.first | bit);
    Chunk &earlier = op.getReverse() ? high : low, &later = op.getReverse() ? low : high;
    later.before = withEarlier(op, later, earlier.total);
    later.hasBefore = b_.getTrue();
    earlier.total = later.total = combine(op.getCombine(), earlier.total, later.total);
  }
}

// Threads whose lane or warp differs in `bit`.
void KernelLowering::scanThreads(tile::ScanOp op, std::vector<Chunk>& chunks, bool isLane, unsigned bit) {
  Rows totals;
  for (const Chunk& c : chunks) totals.push_back(c.total);
  Rows others = isLane ? fromLane(totals, 1 << bit) : fromWarp(totals, 1 << bit, op.getLoc());
  llvm::Value* isHigh = b_.CreateTrunc(b_.CreateLShr(threadId(), isLane ? bit : bit + 5), b_.getInt1Ty());
  llvm::Value* isLater = op.getReverse() ? b_.CreateNot(isHigh) : isHigh;
  for (auto [c, other] : llvm::zip(chunks, others)) {
    c.before = choose(isLater, withEarlier(op, c, other), c.before);
    c.hasBefore = c.hasBefore ? b_.CreateOr(c.hasBefore, isLater) : isLater;
    c.total = combine(op.getCombine(), choose(isLater, other, c.total), choose(isLater, c.total, other));
  }
}

KernelLowering::Rows KernelLowering::fromLane(const Rows& rows, int mask) {
  Rows out;
  for (const Regs& row : rows) {
    Regs& moved = out.emplace_back();
    for (llvm::Value* v : row) moved.push_back(ptx::shuffle(b_, ptx::Shuffle::Butterfly, v, b_.getInt32(mask)));
  }
  return out;
}

// Takes as many rows at a time as fit a modest buffer.
KernelLowering::Rows KernelLowering::fromWarp(const Rows& rows, int mask, Location loc) {
  constexpr int64_t kBufferBytes = 32768;
  int64_t threads = 32 * numWarps_, rowBytes = 0;
  for (llvm::Value* v : rows[0]) rowBytes += threads * bitsOf(v->getType()) / 8;
  size_t atOnce = std::clamp<int64_t>(kBufferBytes / rowBytes, 1, rows.size());
  llvm::Value* base = scratch(atOnce * rowBytes, loc);
  llvm::Value *here = threadId(), *there = b_.CreateXor(here, b_.getInt32(mask * 32));
  Rows out;
  for (size_t first = 0; first < rows.size(); first += atOnce) {
    size_t end = std::min(rows.size(), first + atOnce);
    auto forEach = [&](llvm::Value* thread, llvm::function_ref<void(size_t, size_t, llvm::Value*)> visit) {
      int64_t begin = 0;
      for (size_t r = first; r < end; ++r)
        for (size_t k = 0; k < rows[r].size(); ++k) {
          int64_t bytes = bitsOf(rows[r][k]->getType()) / 8;
          llvm::Value* offset = b_.CreateAdd(b_.CreateMul(thread, b_.getInt32(bytes)), b_.getInt32(begin));
          visit(r, k, b_.CreateGEP(b_.getInt8Ty(), base, offset));
          begin += bytes * threads;
        }
    };
    blockBarrier();
    forEach(here, [&](size_t r, size_t k, llvm::Value* address) { storeShared(address, {toBits(rows[r][k])}); });
    blockBarrier();
    out.resize(end);
    forEach(there, [&](size_t r, size_t k, llvm::Value* address) {
      llvm::Type* type = rows[r][k]->getType();
      out[r].push_back(fromBits(loadShared(address, bitsOf(type), 1)[0], type));
    });
  }
  return out;
}

}  // namespace tandem::lower::nvidia
