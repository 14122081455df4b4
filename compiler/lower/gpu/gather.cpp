// tile.gather and tile.histogram: through the block's shared memory.
#include "compiler/lower/gpu/convert.h"
#include "compiler/lower/gpu/shared.h"

namespace tandem::lower::gpu {
using namespace mlir;

// Returns true if what was stored for an earlier gather from the same tile is still there: nothing between the two branches or
// loops, nor uses its place.
static bool isKept(KernelContext& cx, const KernelContext::Gathered& at, Operation* now) {
  if (at.gather->getBlock() != now->getBlock() || at.liveRings != cx.liveRings || !cx.keepsScratch(at.use))
    return false;
  for (Operation* op = at.gather->getNextNode(); op != now; op = op->getNextNode())
    if (op->getNumRegions() && !isa<tile::ReduceOp, tile::ScanOp, tile::MapElementwiseOp>(op)) return false;
  return true;
}

// The address of the tile in shared memory, row-major, visible to all threads.
static llvm::Value* storeForGathers(KernelContext& cx, tile::GatherOp op, const LinearLayout& source, unsigned bits) {
  auto known = cx.gathered.find(op.getSource());
  if (known != cx.gathered.end() && isKept(cx, known->second, op)) return known->second.base;
  llvm::Value* base = cx.meetBeforeScratch(source.numElements() * bits / 8, op.getLoc());
  storeRowMajor(cx, base, source, cx.use(op.getSource()));
  cx.emit.blockBarrier();
  cx.gathered[op.getSource()] = {op, base, cx.numScratchUses() - 1, cx.liveRings};
  return base;
}

// An index outside stays inside the tile's own memory.
static void lowerGatherAlong(KernelContext& cx, tile::GatherOp op) {
  LinearLayout source = cx.layoutOf(op.getSource()), result = cx.layoutOf(op.getResult());
  llvm::Type* element = cx.typeOf(op.getSource().getType());
  unsigned bits = cx.bitsOf(element), axis = op.getAxis();
  llvm::Value* base = storeForGathers(cx, op, source, bits);
  Regs out;
  for (int64_t r = 0; r < result.numRegisters(); ++r) {
    Regs at = cx.coordinates(cx.position(result, r), result.shape());
    llvm::Value* index = cx.b.CreateZExtOrTrunc(cx.use(op.getIndices())[r], cx.b.getInt32Ty());
    at[axis] = cx.b.CreateAnd(index, cx.b.getInt32(source.shape()[axis] - 1));
    llvm::Value* offset = cx.b.getInt32(0);
    for (unsigned d = 0; d < at.size(); ++d) offset = cx.b.CreateOr(offset, cx.b.CreateShl(at[d], source.axisShift(d)));
    llvm::Value* address = cx.b.CreateGEP(cx.b.getInt8Ty(), base, cx.b.CreateMul(offset, cx.b.getInt32(bits / 8)));
    out.push_back(cx.fromBits(cx.loadShared(address, bits, 1)[0], element));
  }
  cx.define(op.getResult(), out);
}

// Counters in shared memory: cleared, counted up atomically by the owners of the values, read.
static void lowerHistogram(KernelContext& cx, tile::HistogramOp op) {
  LinearLayout source = cx.layoutOf(op.getSource()), result = cx.layoutOf(op.getResult());
  int64_t bins = result.numElements(), threads = cx.numThreads();
  llvm::Value* base = cx.scratch(4 * bins, op.getLoc());
  auto addressOf = [&](llvm::Value* bin) { return cx.b.CreateGEP(cx.b.getInt32Ty(), base, bin); };
  Regs mask;
  if (op.getMask())
    mask = convertLayout(cx, cx.use(op.getMask()), cx.layoutOf(op.getMask()), source, cx.b.getInt1Ty(), op.getLoc());
  cx.emit.blockBarrier();
  for (int64_t first = 0; first < bins; first += threads) {
    llvm::Value* bin = cx.b.CreateAdd(cx.threadId(), cx.b.getInt32(first));
    cx.when(bins - first < threads ? cx.b.CreateICmpULT(bin, cx.b.getInt32(bins)) : nullptr,
            [&] { cx.storeShared(addressOf(bin), {cx.b.getInt32(0)}); });
  }
  cx.emit.blockBarrier();
  llvm::Value* owner = cx.isOwner(source);
  uint64_t copies = source.freeMask(layout::Dim::Register);
  for (auto [r, value] : llvm::enumerate(cx.use(op.getSource()))) {
    if (r & copies) continue;
    // A negative value is larger than any bin as an unsigned one.
    bool isBool = value->getType()->isIntegerTy(1);
    llvm::Value* wide = isBool ? cx.b.CreateZExt(value, cx.b.getInt64Ty()) : cx.b.CreateSExt(value, cx.b.getInt64Ty());
    llvm::Value* counted = cx.b.CreateICmpULT(wide, cx.b.getInt64(bins));
    if (owner) counted = cx.b.CreateAnd(counted, owner);
    if (!mask.empty()) counted = cx.b.CreateAnd(counted, mask[r]);
    AtomicOptions options{Order::Relaxed, Scope::Block, Space::Shared, counted};
    cx.emit.reduceInto(AtomicOp::Add, AtomicType::U32, addressOf(cx.b.CreateTrunc(wide, cx.b.getInt32Ty())),
                       cx.b.getInt32(1), options);
  }
  cx.emit.blockBarrier();
  Regs out;
  for (int64_t r = 0; r < result.numRegisters(); ++r)
    out.push_back(cx.loadShared(addressOf(cx.position(result, r)), 32, 1)[0]);
  cx.define(op.getResult(), out);
}

void registerGather(Lowerings& table) {
  table.on<tile::GatherOp>([](KernelContext& cx, auto o) { lowerGatherAlong(cx, o); });
  table.on<tile::HistogramOp>([](KernelContext& cx, auto o) { lowerHistogram(cx, o); });
}

}  // namespace tandem::lower::gpu
