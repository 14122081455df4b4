// tile.scan: every thread scans its neighbouring registers; then, bit by bit of the position along the axis, the sum
// before each half of a block comes from the other half: from other registers, from lanes by shuffles, from warps
// through shared memory.
#include "compiler/lower/gpu/region.h"

namespace tandem::lower::gpu {
using namespace mlir;
using layout::Dim;
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

// Neighbours that one thread has scanned, from register `first` on, and the sum of those before them, if
// there are any (else null).
struct Chunk {
  size_t first = 0;
  Regs total, before;
  llvm::Value* hasBefore = nullptr;
};

static Regs choose(KernelContext& cx, llvm::Value* condition, const Regs& then, const Regs& otherwise) {
  Regs out;
  for (auto [a, b] : llvm::zip(then, otherwise)) out.push_back(cx.b.CreateSelect(condition, a, b));
  return out;
}

// Returns the sum before a chunk when `earlier` comes in front of the sum known so far.
static Regs withEarlier(KernelContext& cx, tile::ScanOp op, const Chunk& chunk, const Regs& earlier) {
  if (!chunk.hasBefore) return earlier;
  return choose(cx, chunk.hasBefore, combine(cx, op.getCombine(), earlier, chunk.before), earlier);
}

// Chunks of one thread whose registers differ in `bit`.
static void scanRegisters(KernelContext& cx, tile::ScanOp op, std::vector<Chunk>& chunks, size_t bit) {
  auto at = [&](size_t first) -> Chunk& {
    return *llvm::find_if(chunks, [&](const Chunk& c) { return c.first == first; });
  };
  for (Chunk& low : chunks) {
    if (low.first & bit) continue;
    Chunk& high = at(low.first | bit);
    Chunk &earlier = op.getReverse() ? high : low, &later = op.getReverse() ? low : high;
    later.before = withEarlier(cx, op, later, earlier.total);
    later.hasBefore = cx.b.getTrue();
    earlier.total = later.total = combine(cx, op.getCombine(), earlier.total, later.total);
  }
}

static Rows fromLane(KernelContext& cx, const Rows& rows, int mask) {
  Rows out;
  for (const Regs& row : rows) {
    Regs& moved = out.emplace_back();
    for (llvm::Value* v : row) moved.push_back(cx.emit.shuffle(Shuffle::Butterfly, v, cx.b.getInt32(mask)));
  }
  return out;
}

// Takes as many rows at a time as fit a modest buffer.
static Rows fromWarp(KernelContext& cx, const Rows& rows, int mask, Location loc) {
  constexpr int64_t kBufferBytes = 32768;
  int64_t threads = cx.numThreads(), rowBytes = 0;
  for (llvm::Value* v : rows[0]) rowBytes += threads * cx.bitsOf(v->getType()) / 8;
  size_t atOnce = std::clamp<int64_t>(kBufferBytes / rowBytes, 1, rows.size());
  llvm::Value* base = cx.scratch(atOnce * rowBytes, loc);
  llvm::Value *here = cx.threadId(), *there = cx.b.CreateXor(here, cx.b.getInt32(mask * cx.warpSize()));
  Rows out;
  for (size_t first = 0; first < rows.size(); first += atOnce) {
    size_t end = std::min(rows.size(), first + atOnce);
    auto forEach = [&](llvm::Value* thread, llvm::function_ref<void(size_t, size_t, llvm::Value*)> visit) {
      int64_t begin = 0;
      for (size_t r = first; r < end; ++r)
        for (size_t k = 0; k < rows[r].size(); ++k) {
          int64_t bytes = cx.bitsOf(rows[r][k]->getType()) / 8;
          llvm::Value* offset = cx.b.CreateAdd(cx.b.CreateMul(thread, cx.b.getInt32(bytes)), cx.b.getInt32(begin));
          visit(r, k, cx.b.CreateGEP(cx.b.getInt8Ty(), base, offset));
          begin += bytes * threads;
        }
    };
    cx.emit.blockBarrier();
    forEach(here, [&](size_t r, size_t k, llvm::Value* address) { cx.storeShared(address, {cx.toBits(rows[r][k])}); });
    cx.emit.blockBarrier();
    out.resize(end);
    forEach(there, [&](size_t r, size_t k, llvm::Value* address) {
      llvm::Type* type = rows[r][k]->getType();
      out[r].push_back(cx.fromBits(cx.loadShared(address, cx.bitsOf(type), 1)[0], type));
    });
  }
  return out;
}

// Threads whose lane or warp differs in `bit`.
static void scanThreads(KernelContext& cx, tile::ScanOp op, std::vector<Chunk>& chunks, bool isLane, unsigned bit) {
  Rows totals;
  for (const Chunk& c : chunks) totals.push_back(c.total);
  Rows others = isLane ? fromLane(cx, totals, 1 << bit) : fromWarp(cx, totals, 1 << bit, op.getLoc());
  unsigned shift = isLane ? bit : bit + llvm::Log2_32(cx.warpSize());
  llvm::Value* isHigh = cx.b.CreateTrunc(cx.b.CreateLShr(cx.threadId(), shift), cx.b.getInt1Ty());
  llvm::Value* isLater = op.getReverse() ? cx.b.CreateNot(isHigh) : isHigh;
  for (auto [c, other] : llvm::zip(chunks, others)) {
    c.before = choose(cx, isLater, withEarlier(cx, op, c, other), c.before);
    c.hasBefore = c.hasBefore ? cx.b.CreateOr(c.hasBefore, isLater) : isLater;
    c.total = combine(cx, op.getCombine(), choose(cx, isLater, other, c.total), choose(cx, isLater, c.total, other));
  }
}

static void lowerScan(KernelContext& cx, tile::ScanOp op) {
  Rows rows;
  LinearLayout layout = rowsOf(cx, op.getSources(), rows);
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
      rows[r | chunk[i]] = combine(cx, op.getCombine(), rows[r | chunk[i - 1]], rows[r | chunk[i]]);
    Regs total = rows[r | chunk.back()];
    chunks.push_back({r, total, total, nullptr});
  }
  for (auto p = rest; p != places.end(); ++p) {
    if (p->dim == Dim::Register)
      scanRegisters(cx, op, chunks, size_t(1) << p->bit);
    else
      scanThreads(cx, op, chunks, p->dim == Dim::Lane, p->bit);
  }
  for (const Chunk& c : chunks)
    for (size_t i : c.hasBefore ? ArrayRef<size_t>(chunk) : ArrayRef<size_t>()) {
      Regs& row = rows[c.first | i];
      row = choose(cx, c.hasBefore, combine(cx, op.getCombine(), c.before, row), row);
    }
  defineRows(cx, op, rows, layout);
}

void registerScan(Lowerings& table) {
  table.on<tile::ScanOp>([](KernelContext& cx, auto o) { lowerScan(cx, o); });
}

}  // namespace tandem::lower::gpu
