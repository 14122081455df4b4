// Per-thread code: who a thread is, barriers, fences, exchange between lanes, small vectors.
#include "compiler/lower/gpu/trace.h"
#include "compiler/lower/gpu/orders.h"

namespace tandem::lower::gpu {
using namespace mlir;
namespace {

Shuffle modeOf(simt::Shuffle mode) {
  using S = Shuffle;
  static constexpr S modes[] = {S::Index, S::Up, S::Down, S::Butterfly};
  return modes[static_cast<int>(mode)];
}

}  // namespace

static void lowerSpecial(KernelContext& cx, simt::SpecialOp op) {
  llvm::Value* value = nullptr;
  switch (op.getWhich()) {
    case simt::Special::SmId: value = cx.emit.multiprocessor(); break;
    case simt::Special::GlobalTimer: value = cx.emit.globalTimer(); break;
    case simt::Special::Clock: value = cx.emit.clock(); break;
  }
  cx.define(op.getResult(), {cx.b.CreateZExtOrTrunc(value, cx.typeOf(op.getType()))});
}

// The programs count up a word of the module; the first one's count makes its highest bit change when all have come, so
// that it needs no clearing. Launches of one kernel that run at the same time would share it.
static void lowerGridBarrier(KernelContext& cx, Location loc) {
  constexpr const char* kName = "tandem_grid_barrier";
  llvm::GlobalVariable* word = cx.module.getNamedGlobal(kName);
  if (!word)
    word = new llvm::GlobalVariable(cx.module, cx.b.getInt32Ty(), false, llvm::GlobalValue::InternalLinkage,
                                    cx.b.getInt32(0), kName, nullptr, llvm::GlobalValue::NotThreadLocal, 1);
  cx.image.usesGridBarrier = true;
  cx.emit.completeStores();
  cx.emit.blockBarrier();
  cx.when(cx.isFirstThread(), [&] {
    llvm::Value* programs = cx.emit.gridSize(0);
    programs = cx.b.CreateMul(cx.b.CreateMul(programs, cx.emit.gridSize(1)), cx.emit.gridSize(2));
    llvm::Value* index = cx.b.CreateOr(cx.b.CreateOr(cx.emit.gridIndex(0), cx.emit.gridIndex(1)), cx.emit.gridIndex(2));
    llvm::Value* rest = cx.b.CreateSub(cx.b.getInt32(0x80000001), programs);
    llvm::Value* step = cx.b.CreateSelect(cx.b.CreateICmpEQ(index, cx.b.getInt32(0)), rest, cx.b.getInt32(1));
    AtomicOptions options{Order::AcquireRelease, Scope::Device, Space::Global, nullptr};
    llvm::Value* before = cx.emit.atomic(AtomicOp::Add, AtomicType::U32, word, step, options);
    AccessOptions strong;
    strong.order = Order::Acquire;
    strong.scope = Scope::Device;
    cx.pollUntil([&] { return cx.emit.load(cx.b.getInt32Ty(), 1, word, nullptr, {}, strong)[0]; },
                 [&](llvm::Value* now) { return cx.b.CreateICmpSLT(cx.b.CreateXor(now, before), cx.b.getInt32(0)); });
  });
  cx.emit.blockBarrier();
}

void registerSimt(Lowerings& table) {
  table.on<simt::TidOp>([](KernelContext& cx, auto o) {
    cx.define(o.getResult(), {o.getAxis() == 0 ? cx.threadId() : cx.b.getInt32(0)});
  });
  table.on<simt::NtidOp>([](KernelContext& cx, auto o) {
    cx.define(o.getResult(), {cx.b.getInt32(o.getAxis() == 0 ? cx.numThreads() : 1)});
  });
  table.on<simt::SpecialOp>([](KernelContext& cx, auto o) { lowerSpecial(cx, o); });
  table.on<simt::BarrierOp>([](KernelContext& cx, auto o) {
    if (cx.spins) return;  // all threads meet in front of the loop and behind it
    if (o.getCompleting()) cx.emit.completeStores();
    if (o.getInBlock())
      cx.emit.blockBarrier();
    else
      cx.emit.programBarrier();
  });
  table.on<simt::NamedBarrierOp>(
      [](KernelContext& cx, auto o) { cx.emit.namedBarrier(o.getId(), o.getThreads(), o.getArriveOnly()); });
  table.on<simt::GridBarrierOp>(
      [](KernelContext& cx, auto o) { traced(cx, "barrier", o, nullptr, [&] { lowerGridBarrier(cx, o.getLoc()); }); });
  table.on<simt::WarpBarrierOp>([](KernelContext& cx, auto) { cx.emit.warpBarrier(); });
  table.on<simt::FenceOp>(
      [](KernelContext& cx, auto o) { cx.emit.fence(scopeOf(o.getScope()), o.getSem() == tile::Semantic::SeqCst); });
  table.on<simt::ShuffleOp>([](KernelContext& cx, auto o) {
    llvm::Value *value = cx.useScalar(o.getValue()), *lane = cx.useScalar(o.getLane()),
                *mask = cx.useScalar(o.getMask());
    cx.define(o.getResult(), {cx.emit.shuffle(modeOf(o.getMode()), value, lane, mask)});
  });
  table.on<simt::BallotOp>([](KernelContext& cx, auto o) {
    cx.define(o.getResult(), {cx.emit.ballot(cx.useScalar(o.getPredicate()), cx.useScalar(o.getMask()))});
  });
  table.on<simt::ElectOp>([](KernelContext& cx, auto o) {
    llvm::Value* first = cx.b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, cx.emit.activeMask(), cx.b.getFalse());
    cx.define(o.getResult(), {cx.b.CreateICmpEQ(cx.laneId(), first)});
  });
  // A thread's vector is as many values as it has elements.
  table.on<simt::VectorOp>([](KernelContext& cx, auto o) {
    Regs elements;
    for (mlir::Value v : o.getElements()) elements.push_back(cx.useScalar(v));
    cx.define(o.getResult(), elements);
  });
  table.on<simt::VectorExtractOp>([](KernelContext& cx, auto o) {
    llvm::Value* element = cx.use(o.getVector())[o.getIndex()];
    cx.define(o.getResult(), {element});
  });
  table.on<simt::VectorBitcastOp>([](KernelContext& cx, auto o) {
    llvm::Type* element = cx.typeOf(o.getResult().getType());
    unsigned bits = element->getScalarSizeInBits();
    size_t count = cx.registersOf(o.getResult());
    Regs parts;
    for (llvm::Value* v : cx.use(o.getSource())) parts.push_back(cx.toBits(v));
    unsigned from = parts[0]->getType()->getIntegerBitWidth();
    if (from < bits) parts = cx.pack(parts, bits);
    if (from > bits) parts = cx.unpack(parts, bits, count);
    for (llvm::Value*& v : parts) v = cx.fromBits(v, element);
    cx.define(o.getResult(), parts);
  });
}

}  // namespace tandem::lower::gpu
