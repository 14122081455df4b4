// tile.scan: every thread scans its neighbouring registers; then the sum before each part of a block comes from the parts
// before it: from lanes by shuffles, from warps through shared memory, from other registers.
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

// Consecutive bits of lanes or of warps that count consecutive bits of the position along the axis.
struct Run {
  Dim dim;
  unsigned first, count;

  unsigned size() const { return 1u << count; }
};

// The first run of `places`. A thread looks at the sums of all warps of a run: of sixteen at most, which costs less than to meet
// again, and of more eight at a time.
static Run firstRun(ArrayRef<Place> places) {
  constexpr unsigned kMostWarpBits = 4;
  Run run{places[0].dim, places[0].bit, 1};
  while (run.count < places.size() && places[run.count].dim == run.dim &&
         places[run.count].bit == run.first + run.count)
    ++run.count;
  if (run.dim == Dim::Warp && run.count > kMostWarpBits) run.count = kMostWarpBits - 1;
  return run;
}

// How many parts of a run come before this thread's.
static llvm::Value* partsBefore(KernelContext& cx, tile::ScanOp op, const Run& run) {
  llvm::Value* index = run.dim == Dim::Lane ? cx.laneId() : cx.warpId();
  llvm::Value* part = cx.b.CreateAnd(cx.b.CreateLShr(index, run.first), run.size() - 1);
  return op.getReverse() ? cx.b.CreateSub(cx.b.getInt32(run.size() - 1), part) : part;
}

// Puts `earlier`, which is there if `isThere` holds, in front of the sum before a chunk.
static void putBefore(KernelContext& cx, tile::ScanOp op, Chunk& chunk, const Regs& earlier, llvm::Value* isThere) {
  chunk.before = choose(cx, isThere, withEarlier(cx, op, chunk, earlier), chunk.before);
  chunk.hasBefore = chunk.hasBefore ? cx.b.CreateOr(chunk.hasBefore, isThere) : isThere;
}

static Regs shuffled(KernelContext& cx, const Regs& row, Shuffle mode, llvm::Value* lane) {
  Regs out;
  for (llvm::Value* v : row) out.push_back(cx.emit.shuffle(mode, v, lane));
  return out;
}

// Sums over twice as many lanes at each step.
static void scanLanes(KernelContext& cx, tile::ScanOp op, std::vector<Chunk>& chunks, const Run& run,
                      bool needsTotals) {
  Shuffle fromEarlier = op.getReverse() ? Shuffle::Down : Shuffle::Up;
  llvm::Value *before = partsBefore(cx, op, run), *lanes = cx.b.getInt32((run.size() - 1) << run.first);
  llvm::Value* last =
      op.getReverse() ? cx.b.CreateAnd(cx.laneId(), cx.b.CreateNot(lanes)) : cx.b.CreateOr(cx.laneId(), lanes);
  auto reaches = [&](unsigned lanes) { return cx.b.CreateICmpUGE(before, cx.b.getInt32(lanes)); };
  for (Chunk& c : chunks) {
    Regs sum = c.total, other;
    for (unsigned step = 1; step < run.size(); step *= 2) {
      other = shuffled(cx, sum, fromEarlier, cx.b.getInt32(step << run.first));
      sum = choose(cx, reaches(step), combine(cx, op.getCombine(), other, sum), sum);
    }
    if (run.count > 1) other = shuffled(cx, sum, fromEarlier, cx.b.getInt32(1 << run.first));
    putBefore(cx, op, c, other, reaches(1));
    if (needsTotals) c.total = shuffled(cx, sum, Shuffle::Index, last);
  }
}

// The thread whose totals other warps read, and its place among all that do so: `summed` are the bits of a thread's index
// whose threads hold the same totals.
struct TotalsPlace {
  llvm::Value *index, *isFirst;
  int64_t count;

  static TotalsPlace of(KernelContext& cx, const Run& run, uint64_t summed) {
    llvm::Value* thread = cx.threadId();
    TotalsPlace out{cx.b.getInt32(0), cx.b.CreateICmpEQ(cx.b.CreateAnd(thread, summed), cx.b.getInt32(0)), 1};
    unsigned firstOfRun = run.first + llvm::Log2_32(cx.warpSize());
    for (unsigned bit = 0; 1 << bit < cx.numThreads(); ++bit) {
      if (summed >> bit & 1 || (bit >= firstOfRun && bit < firstOfRun + run.count)) continue;
      llvm::Value* part = cx.b.CreateAnd(cx.b.CreateLShr(thread, bit), 1);
      out.index = cx.b.CreateOr(out.index, cx.b.CreateMul(part, cx.b.getInt32(out.count)));
      out.count *= 2;
    }
    return out;
  }
};

// Every warp writes its totals, and a thread adds up those of all warps of the run, as many chunks at a time as fit a
// modest buffer.
static void scanWarps(KernelContext& cx, tile::ScanOp op, std::vector<Chunk>& chunks, const Run& run, uint64_t summed) {
  constexpr int64_t kBufferBytes = 32768;
  // So few have the condition as their predicate; past the branch that more share LLVM moves what is used once, such as a choice by the
  // sums of a scan before, and all sums are kept for it.
  constexpr size_t kFewStores = 8;
  AccessOptions inShared;
  inShared.space = codegen::Space::Shared;
  TotalsPlace place = TotalsPlace::of(cx, run, summed);
  int64_t warps = run.size(), chunkBytes = 0;
  SmallVector<int64_t> begins;  // of each value's totals in a chunk's part of the buffer
  for (llvm::Value* v : chunks[0].total) {
    begins.push_back(chunkBytes);
    chunkBytes += llvm::alignTo(place.count * warps * cx.bitsOf(v->getType()) / 8, 16);
  }
  size_t atOnce = std::clamp<int64_t>(kBufferBytes / chunkBytes, 1, chunks.size());
  llvm::Value *base = cx.meetBeforeScratch(atOnce * chunkBytes, op.getLoc()), *before = partsBefore(cx, op, run);
  llvm::Value* own = op.getReverse() ? cx.b.CreateSub(cx.b.getInt32(warps - 1), before) : before;
  llvm::Value* first = cx.b.CreateMul(place.index, cx.b.getInt32(warps));
  auto addressOf = [&](size_t chunk, size_t k, llvm::Value* element) {
    unsigned bytes = cx.bitsOf(chunks[0].total[k]->getType()) / 8;
    llvm::Value* offset = cx.b.CreateAdd(cx.b.CreateMul(element, cx.b.getInt32(bytes)),
                                         cx.b.getInt32(chunk % atOnce * chunkBytes + begins[k]));
    return cx.b.CreateGEP(cx.b.getInt8Ty(), base, offset);
  };
  for (size_t begin = 0; begin < chunks.size(); begin += atOnce) {
    size_t end = std::min(chunks.size(), begin + atOnce);
    if (begin) cx.emit.blockBarrier();
    auto storeTotals = [&](llvm::Value* predicate) {
      for (size_t c = begin; c < end; ++c)
        for (auto [k, v] : llvm::enumerate(chunks[c].total)) {
          llvm::Value* address = addressOf(c, k, cx.b.CreateAdd(first, own));
          if (predicate)
            cx.emit.store({cx.toBits(v)}, address, predicate, inShared);
          else
            cx.storeShared(address, {cx.toBits(v)});
        }
    };
    if ((end - begin) * begins.size() <= kFewStores)
      storeTotals(place.isFirst);
    else
      cx.when(place.isFirst, [&] { storeTotals(nullptr); });
    cx.emit.blockBarrier();
    for (size_t c = begin; c < end; ++c) {
      Rows totals(warps);
      for (auto [k, v] : llvm::enumerate(chunks[c].total)) {
        int64_t vector = std::min<int64_t>(warps, 128 / cx.bitsOf(v->getType()));
        for (int64_t w = 0; w < warps; w += vector)
          for (auto [i, bits] : llvm::enumerate(cx.loadShared(addressOf(c, k, cx.b.CreateAdd(first, cx.b.getInt32(w))),
                                                              cx.bitsOf(v->getType()), vector)))
            totals[w + i].push_back(cx.fromBits(bits, v->getType()));
      }
      if (op.getReverse()) std::reverse(totals.begin(), totals.end());
      Regs sum = totals[0], earlier = sum;
      for (int64_t w = 1; w < warps; ++w) {
        if (w > 1) earlier = choose(cx, cx.b.CreateICmpUGE(before, cx.b.getInt32(w)), sum, earlier);
        sum = combine(cx, op.getCombine(), sum, totals[w]);
      }
      putBefore(cx, op, chunks[c], earlier, cx.b.CreateICmpNE(before, cx.b.getInt32(0)));
      chunks[c].total = sum;
    }
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
  uint64_t summed = 0;  // bits of a thread's index
  for (ArrayRef<Place> left(rest, places.end()); !left.empty();) {
    if (left[0].dim == Dim::Register) {
      scanRegisters(cx, op, chunks, size_t(1) << left[0].bit);
      left = left.drop_front();
      continue;
    }
    Run run = firstRun(left);
    left = left.drop_front(run.count);
    unsigned first = run.first;
    if (run.dim == Dim::Lane) {
      scanLanes(cx, op, chunks, run, !left.empty());
    } else {
      scanWarps(cx, op, chunks, run, summed);
      first += llvm::Log2_32(cx.warpSize());
    }
    summed |= uint64_t(run.size() - 1) << first;
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
