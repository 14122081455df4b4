// Bulk copies, their mbarriers, and tensor maps, one for one (M16). Pointers of kernels are generic; these instructions want shared ones.
#include "compiler/lower/nvidia/kernel_lowering.h"
#include <llvm/ADT/TypeSwitch.h>

namespace tandem::lower::nvidia {
using namespace mlir;

bool KernelLowering::lowerSimtBulk(Operation* op) {
  auto shared = [&](mlir::Value pointer) { return fromGeneric(useScalar(pointer)); };
  auto coordinates = [&](auto o) {
    Regs out;
    for (mlir::Value v : o.getCoordinates()) out.push_back(useScalar(v));
    return out;
  };
  auto requireTma = [&] {
    if (!target_.hasTma()) failUnsupported(op);
    return true;
  };
  auto wait = [&](llvm::Value* barrier, llvm::Value* parity) {
    if (target_.hasMbarrierTryWait())
      ptx::mbarrierWait(b_, barrier, parity);
    else
      ptx::mbarrierPoll(b_, barrier, parity);
  };
  if (lowerTensormap(op)) return true;
  return llvm::TypeSwitch<Operation*, bool>(op)
      .Case<simt::MbarrierInitOp>(
          [&](auto o) { return ptx::mbarrierInit(b_, shared(o.getBarrier()), useScalar(o.getCount())), true; })
      .Case<simt::MbarrierArriveOp>([&](auto o) {
        if (!o.getBytes()) return ptx::mbarrierArrive(b_, shared(o.getBarrier())), true;
        return requireTma() && (ptx::mbarrierArriveExpect(b_, shared(o.getBarrier()), useScalar(o.getBytes())), true);
      })
      .Case<simt::MbarrierExpectOp>([&](auto o) {
        return requireTma() && (ptx::mbarrierExpect(b_, shared(o.getBarrier()), useScalar(o.getBytes())), true);
      })
      .Case<simt::MbarrierTryWaitOp>([&](auto o) {
        return define(o.getResult(), {ptx::mbarrierTest(b_, shared(o.getBarrier()), useScalar(o.getParity()))}), true;
      })
      .Case<simt::MbarrierWaitOp>([&](auto o) { return wait(shared(o.getBarrier()), useScalar(o.getParity())), true; })
      .Case<simt::MbarrierInvalidateOp>(
          [&](auto o) { return ptx::mbarrierInvalidate(b_, shared(o.getBarrier())), true; })
      .Case<simt::TmaLoadOp>([&](auto o) {
        Regs at = coordinates(o);
        return requireTma() &&
               (ptx::tensorLoad(b_, {useScalar(o.getMap()), at, shared(o.getDest()), shared(o.getBarrier())}), true);
      })
      .Case<simt::TmaStoreOp>([&](auto o) {
        Regs at = coordinates(o);
        return requireTma() && (ptx::tensorStore(b_, {useScalar(o.getMap()), at, shared(o.getSource())}), true);
      })
      .Case<simt::BulkLoadOp>([&](auto o) {
        return requireTma() && (ptx::bulkLoad(b_, shared(o.getDest()), useScalar(o.getSource()),
                                              useScalar(o.getBytes()), shared(o.getBarrier())),
                                true);
      })
      .Case<simt::BulkStoreOp>([&](auto o) {
        return requireTma() &&
               (ptx::bulkStore(b_, useScalar(o.getDest()), shared(o.getSource()), useScalar(o.getBytes())), true);
      })
      .Case<simt::BulkCommitOp>([&](auto) { return requireTma() && (ptx::commitBulk(b_), true); })
      .Case<simt::BulkWaitOp>(
          [&](auto o) { return requireTma() && (ptx::waitBulk(b_, o.getPending(), o.getRead()), true); })
      .Case<simt::ProxyFenceOp>([&](auto o) {
        requireTma();
        switch (o.getKind()) {
          case simt::ProxyFence::Async: ptx::fenceProxyAsync(b_); break;
          case simt::ProxyFence::AsyncShared: ptx::fenceProxyAsync(b_, ptx::ProxySpace::Shared); break;
          case simt::ProxyFence::MbarrierInit: ptx::fenceBarrierInit(b_); break;
          case simt::ProxyFence::TensormapAcquire: {
            ptx::Call call(b_);
            call.emit("fence.proxy.tensormap::generic.acquire.gpu " + call.address(useScalar(o.getMap())) + ", 128;",
                      ptx::Effect::Acts);
          }
        }
        return true;
      })
      .Default([](Operation*) { return false; });
}

bool KernelLowering::lowerTensormap(Operation* op) {
  if (!isa<simt::TensormapReplaceOp, simt::TensormapPublishOp, simt::TensormapPrefetchOp>(op)) return false;
  if (!target_.hasTma()) failUnsupported(op);
  if (auto replace = dyn_cast<simt::TensormapReplaceOp>(op)) return replaceInTensormap(replace), true;
  ptx::Call call(b_);
  if (auto publish = dyn_cast<simt::TensormapPublishOp>(op)) {
    std::string to = call.address(useScalar(publish.getDest())),
                from = call.address(fromGeneric(useScalar(publish.getSource())));
    call.emit("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned " + to + ", " +
                  from + ", 128;",
              ptx::Effect::Acts);
    return true;
  }
  auto prefetch = cast<simt::TensormapPrefetchOp>(op);
  if (prefetch.getCoordinates().empty()) return ptx::prefetchTensorMap(b_, useScalar(prefetch.getMap())), true;
  std::string map = call.in(useScalar(prefetch.getMap())), at;
  for (mlir::Value v : prefetch.getCoordinates()) at += (at.empty() ? "" : ", ") + call.in(useScalar(v));
  call.emit("cp.async.bulk.prefetch.tensor." + std::to_string(prefetch.getCoordinates().size()) + "d.L2.global.tile [" +
                map + ", {" + at + "}];",
            ptx::Effect::Acts);
  return true;
}

// Fields that choose among few values take an immediate.
void KernelLowering::replaceInTensormap(simt::TensormapReplaceOp op) {
  using F = simt::MapField;
  F field = op.getField();
  bool isWide = field == F::GlobalAddress || field == F::GlobalStride;
  bool hasOrdinal =
      field == F::BoxDim || field == F::GlobalDim || field == F::GlobalStride || field == F::ElementStride;
  bool isChoice = field == F::ElemType || field == F::Interleave || field == F::Swizzle || field == F::Fill;
  llvm::Value* value = b_.CreateZExtOrTrunc(useScalar(op.getValue()), isWide ? b_.getInt64Ty() : b_.getInt32Ty());
  if (isChoice && !isa<llvm::ConstantInt>(value))
    places_.fail(op.getLoc(), "unsupported",
                 "`" + stringifyMapField(field).str() + "` of a tensor map is a constant on " + target_.name());
  ptx::Call call(b_);
  std::string at = call.address(useScalar(op.getMap()));
  std::string ordinal = hasOrdinal ? ", " + std::to_string(op.getOrdinal()) : "";
  std::string to = isChoice ? call.immediateOrIn(value) : call.in(value);
  call.emit("tensormap.replace.tile." + stringifyMapField(field).str() + ".b1024." + (isWide ? "b64 " : "b32 ") + at +
                ordinal + ", " + to + ";",
            ptx::Effect::Acts);
}

}  // namespace tandem::lower::nvidia
