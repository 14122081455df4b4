// Per-thread code: who a thread is, barriers, fences, exchange between lanes, small vectors.
#include "compiler/lower/nvidia/kernel_lowering.h"
#include "compiler/lower/gpu/orders.h"
#include <llvm/ADT/TypeSwitch.h>

namespace tandem::lower::nvidia {
using namespace mlir;
namespace {

ptx::Shuffle modeOf(simt::Shuffle mode) {
  using S = ptx::Shuffle;
  static constexpr S modes[] = {S::Index, S::Up, S::Down, S::Butterfly};
  return modes[static_cast<int>(mode)];
}

}  // namespace

bool KernelLowering::lowerSimt(Operation* op) {
  if (!isa<simt::SimtDialect>(op->getDialect())) return false;
  if (lowerSimtMemory(op) || lowerSimtShared(op) || lowerSimtBulk(op) || lowerVector(op)) return true;
  return llvm::TypeSwitch<Operation*, bool>(op)
      .Case<simt::TidOp>(
          [&](auto o) { return define(o.getResult(), {o.getAxis() == 0 ? threadId() : b_.getInt32(0)}), true; })
      .Case<simt::NtidOp>(
          [&](auto o) { return define(o.getResult(), {b_.getInt32(o.getAxis() == 0 ? 32 * numWarps_ : 1)}), true; })
      .Case<simt::SpecialOp>([&](auto o) { return lowerSpecial(o), true; })
      .Case<simt::BarrierOp>([&](auto o) {
        if (o->hasAttr("tgpu.completes_bulk")) completeBulkStores();
        return o->hasAttr("tgpu.in_block") ? blockBarrier() : programBarrier(), true;
      })
      .Case<simt::NamedBarrierOp>([&](auto o) {
        if (o.getArriveOnly())
          ptx::barrierArrive(b_, o.getId(), o.getThreads());
        else
          ptx::barrierSync(b_, static_cast<int>(o.getId()), static_cast<int>(o.getThreads()));
        return true;
      })
      .Case<simt::GridBarrierOp>([&](auto o) { return traced("barrier", o, nullptr, [&] { lowerGridBarrier(o.getLoc()); }), true; })
      .Case<simt::WarpBarrierOp>([&](auto) { return ptx::syncWarp(b_), true; })
      .Case<simt::FenceOp>(
          [&](auto o) { return ptx::fence(b_, scopeOf(o.getScope()), o.getSem() == tile::Semantic::SeqCst), true; })
      .Case<simt::ShuffleOp>([&](auto o) {
        llvm::Value* moved = ptx::shuffle(b_, modeOf(o.getMode()), useScalar(o.getValue()), useScalar(o.getLane()), 32,
                                          useScalar(o.getMask()));
        return define(o.getResult(), {moved}), true;
      })
      .Case<simt::BallotOp>([&](auto o) {
        return define(o.getResult(), {ptx::ballot(b_, useScalar(o.getPredicate()), useScalar(o.getMask()))}), true;
      })
      .Case<simt::ElectOp>([&](auto o) {
        llvm::Value* first = b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, ptx::activeMask(b_), b_.getFalse());
        return define(o.getResult(), {b_.CreateICmpEQ(laneId(), first)}), true;
      })
      .Default([](Operation*) { return false; });
}

void KernelLowering::lowerSpecial(simt::SpecialOp op) {
  llvm::Value* value = nullptr;
  switch (op.getWhich()) {
    case simt::Special::SmId: value = ptx::special(b_, ptx::Special::Multiprocessor); break;
    case simt::Special::GlobalTimer: value = ptx::globalTimer(b_); break;
    case simt::Special::Clock: value = ptx::clock(b_); break;
  }
  define(op.getResult(), {b_.CreateZExtOrTrunc(value, typeOf(op.getType()))});
}

// The programs count up a word of the module; the first one's count makes its highest bit change when all have come, so that it needs no
// clearing. Launches of one kernel that run at the same time would share it.
void KernelLowering::lowerGridBarrier(Location loc) {
  constexpr const char* kName = "tandem_grid_barrier";
  llvm::GlobalVariable* word = module_.getNamedGlobal(kName);
  if (!word)
    word = new llvm::GlobalVariable(module_, b_.getInt32Ty(), false, llvm::GlobalValue::InternalLinkage, b_.getInt32(0),
                                    kName, nullptr, llvm::GlobalValue::NotThreadLocal, 1);
  image_.usesGridBarrier = true;
  using S = ptx::Special;
  blockBarrier();
  when(isFirstThread(), [&] {
    llvm::Value* programs = ptx::special(b_, S::BlockCountX);
    programs = b_.CreateMul(b_.CreateMul(programs, ptx::special(b_, S::BlockCountY)), ptx::special(b_, S::BlockCountZ));
    llvm::Value* index =
        b_.CreateOr(b_.CreateOr(ptx::special(b_, S::BlockX), ptx::special(b_, S::BlockY)), ptx::special(b_, S::BlockZ));
    llvm::Value* rest = b_.CreateSub(b_.getInt32(0x80000001), programs);
    llvm::Value* step = b_.CreateSelect(b_.CreateICmpEQ(index, b_.getInt32(0)), rest, b_.getInt32(1));
    ptx::AtomicOptions options{ptx::Order::AcquireRelease, ptx::Scope::Device, ptx::Space::Global, nullptr};
    llvm::Value* before = ptx::atomic(b_, ptx::AtomicOp::Add, ptx::AtomicType::U32, word, step, options);
    ptx::AccessOptions strong;
    strong.order = ptx::Order::Acquire;
    strong.scope = ptx::Scope::Device;
    pollUntil([&] { return ptx::load(b_, b_.getInt32Ty(), 1, word, nullptr, {}, strong)[0]; },
              [&](llvm::Value* now) { return b_.CreateICmpSLT(b_.CreateXor(now, before), b_.getInt32(0)); });
  });
  blockBarrier();
}

// A thread's vector is as many values as it has elements.
bool KernelLowering::lowerVector(Operation* op) {
  return llvm::TypeSwitch<Operation*, bool>(op)
      .Case<simt::VectorOp>([&](auto o) {
        Regs elements;
        for (mlir::Value v : o.getElements()) elements.push_back(useScalar(v));
        return define(o.getResult(), elements), true;
      })
      .Case<simt::VectorExtractOp>([&](auto o) {
        llvm::Value* element = use(o.getVector())[o.getIndex()];
        return define(o.getResult(), {element}), true;
      })
      .Case<simt::VectorBitcastOp>([&](auto o) {
        llvm::Type* element = typeOf(o.getResult().getType());
        unsigned bits = element->getScalarSizeInBits();
        size_t count = registersOf(o.getResult());
        Regs parts;
        for (llvm::Value* v : use(o.getSource())) parts.push_back(toBits(v));
        unsigned from = parts[0]->getType()->getIntegerBitWidth();
        if (from < bits) parts = pack(parts, bits);
        if (from > bits) parts = unpack(parts, bits, count);
        for (llvm::Value*& v : parts) v = fromBits(v, element);
        return define(o.getResult(), parts), true;
      })
      .Default([](Operation*) { return false; });
}

}  // namespace tandem::lower::nvidia
