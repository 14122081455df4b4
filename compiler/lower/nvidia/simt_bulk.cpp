// Bulk copies, their mbarriers, threads' own copies, and tensor maps, one for one (M16). Pointers of kernels are generic;
// these instructions want shared ones.
#include "compiler/lower/gpu/simt_shared.h"
#include "compiler/lower/nvidia/kernel.h"

namespace tandem::lower::nvidia {
using namespace mlir;

static llvm::Value* shared(KernelContext& cx, mlir::Value pointer) {
  llvm::Value* own = ownShared(cx, pointer);
  return own ? own : fromGeneric(cx, cx.useScalar(pointer));
}

template <class Op>
static Regs coordinatesOf(KernelContext& cx, Op o) {
  Regs out;
  for (mlir::Value v : o.getCoordinates()) out.push_back(cx.useScalar(v));
  return out;
}

static void requireTma(KernelContext& cx, Operation* op) {
  if (!cx.target.hasTma()) cx.failUnsupported(op);
}

static void wait(KernelContext& cx, llvm::Value* barrier, llvm::Value* parity) {
  if (cx.target.hasMbarrierTryWait())
    ptx::mbarrierWait(cx.b, barrier, parity);
  else
    ptx::mbarrierPoll(cx.b, barrier, parity);
}

void registerSimtBulk(Lowerings& table) {
  on<simt::MbarrierInitOp>(table, [](KernelContext& cx, auto o) {
    ptx::mbarrierInit(cx.b, shared(cx, o.getBarrier()), cx.useScalar(o.getCount()));
  });
  on<simt::MbarrierArriveOp>(table, [](KernelContext& cx, auto o) {
    if (!o.getBytes()) return ptx::mbarrierArrive(cx.b, shared(cx, o.getBarrier()));
    requireTma(cx, o);
    ptx::mbarrierArriveExpect(cx.b, shared(cx, o.getBarrier()), cx.useScalar(o.getBytes()));
  });
  on<simt::MbarrierExpectOp>(table, [](KernelContext& cx, auto o) {
    requireTma(cx, o);
    ptx::mbarrierExpect(cx.b, shared(cx, o.getBarrier()), cx.useScalar(o.getBytes()));
  });
  on<simt::MbarrierTryWaitOp>(table, [](KernelContext& cx, auto o) {
    cx.define(o.getResult(), {ptx::mbarrierTest(cx.b, shared(cx, o.getBarrier()), cx.useScalar(o.getParity()))});
  });
  on<simt::MbarrierWaitOp>(
      table, [](KernelContext& cx, auto o) { wait(cx, shared(cx, o.getBarrier()), cx.useScalar(o.getParity())); });
  on<simt::MbarrierInvalidateOp>(
      table, [](KernelContext& cx, auto o) { ptx::mbarrierInvalidate(cx.b, shared(cx, o.getBarrier())); });
  on<simt::TmaLoadOp>(table, [](KernelContext& cx, auto o) {
    Regs at = coordinatesOf(cx, o);
    requireTma(cx, o);
    ptx::tensorLoad(cx.b, {cx.useScalar(o.getMap()), at, shared(cx, o.getDest()), shared(cx, o.getBarrier())});
  });
  on<simt::TmaStoreOp>(table, [](KernelContext& cx, auto o) {
    Regs at = coordinatesOf(cx, o);
    requireTma(cx, o);
    ptx::tensorStore(cx.b, {cx.useScalar(o.getMap()), at, shared(cx, o.getSource())});
  });
  on<simt::BulkLoadOp>(table, [](KernelContext& cx, auto o) {
    requireTma(cx, o);
    ptx::bulkLoad(cx.b, shared(cx, o.getDest()), cx.useScalar(o.getSource()), cx.useScalar(o.getBytes()),
                  shared(cx, o.getBarrier()));
  });
  on<simt::BulkStoreOp>(table, [](KernelContext& cx, auto o) {
    requireTma(cx, o);
    ptx::bulkStore(cx.b, cx.useScalar(o.getDest()), shared(cx, o.getSource()), cx.useScalar(o.getBytes()));
  });
  on<simt::BulkCommitOp>(table, [](KernelContext& cx, auto o) {
    requireTma(cx, o);
    ptx::commitBulk(cx.b);
  });
  on<simt::BulkWaitOp>(table, [](KernelContext& cx, auto o) {
    requireTma(cx, o);
    ptx::waitBulk(cx.b, o.getPending(), o.getRead());
  });
  on<simt::CopyAsyncOp>(table, [](KernelContext& cx, auto o) {
    llvm::Value* read = o.getRead() ? cx.useScalar(o.getRead()) : nullptr;
    ptx::copyAsync(cx.b, shared(cx, o.getDest()), cx.useScalar(o.getSource()), int(o.getBytes()), read);
  });
  on<simt::CopyCommitOp>(table, [](KernelContext& cx, auto) { ptx::commitCopies(cx.b); });
  on<simt::CopyWaitOp>(table, [](KernelContext& cx, auto o) { ptx::waitCopies(cx.b, int(o.getPending())); });
  on<simt::ProxyFenceOp>(table, [](KernelContext& cx, auto o) {
    requireTma(cx, o);
    switch (o.getKind()) {
      case simt::ProxyFence::Async: ptx::fenceProxyAsync(cx.b); break;
      case simt::ProxyFence::AsyncShared: ptx::fenceProxyAsync(cx.b, ptx::ProxySpace::Shared); break;
      case simt::ProxyFence::MbarrierInit: ptx::fenceBarrierInit(cx.b); break;
      case simt::ProxyFence::TensormapAcquire: ptx::fenceTensorMapAcquire(cx.b, cx.useScalar(o.getMap())); break;
    }
  });
}

}  // namespace tandem::lower::nvidia
