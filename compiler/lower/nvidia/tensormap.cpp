// Tensor maps that a kernel changes, one for one (M16).
#include "compiler/lower/gpu/simt_shared.h"
#include "compiler/lower/nvidia/kernel.h"

namespace tandem::lower::nvidia {
using namespace mlir;

// Fields that choose among few values take an immediate.
static void replaceInTensormap(KernelContext& cx, simt::TensormapReplaceOp op) {
  using F = simt::MapField;
  F field = op.getField();
  bool isWide = field == F::GlobalAddress || field == F::GlobalStride;
  bool hasOrdinal =
      field == F::BoxDim || field == F::GlobalDim || field == F::GlobalStride || field == F::ElementStride;
  bool isChoice = field == F::ElemType || field == F::Interleave || field == F::Swizzle || field == F::Fill;
  llvm::Value* value =
      cx.b.CreateZExtOrTrunc(cx.useScalar(op.getValue()), isWide ? cx.b.getInt64Ty() : cx.b.getInt32Ty());
  if (isChoice && !isa<llvm::ConstantInt>(value))
    cx.places.fail(op.getLoc(), "unsupported",
                   "`" + stringifyMapField(field).str() + "` of a tensor map is a constant on " + cx.target.name());
  ptx::Call call(cx.b);
  std::string at = call.address(cx.useScalar(op.getMap()));
  std::string ordinal = hasOrdinal ? ", " + std::to_string(op.getOrdinal()) : "";
  std::string to = isChoice ? call.immediateOrIn(value) : call.in(value);
  call.emit("tensormap.replace.tile." + stringifyMapField(field).str() + ".b1024." + (isWide ? "b64 " : "b32 ") + at +
                ordinal + ", " + to + ";",
            ptx::Effect::Acts);
}

// A map in shared memory, published to global memory.
static void publish(KernelContext& cx, simt::TensormapPublishOp op) {
  ptx::Call call(cx.b);
  std::string to = call.address(cx.useScalar(op.getDest())),
              from = call.address(fromGeneric(cx, cx.useScalar(op.getSource())));
  call.emit("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned " + to + ", " +
                from + ", 128;",
            ptx::Effect::Acts);
}

static void prefetch(KernelContext& cx, simt::TensormapPrefetchOp op) {
  if (op.getCoordinates().empty()) return ptx::prefetchTensorMap(cx.b, cx.useScalar(op.getMap()));
  ptx::Call call(cx.b);
  std::string map = call.in(cx.useScalar(op.getMap())), at;
  for (mlir::Value v : op.getCoordinates()) at += (at.empty() ? "" : ", ") + call.in(cx.useScalar(v));
  call.emit("cp.async.bulk.prefetch.tensor." + std::to_string(op.getCoordinates().size()) + "d.L2.global.tile [" + map +
                ", {" + at + "}];",
            ptx::Effect::Acts);
}

void registerTensormap(Lowerings& table) {
  on<simt::TensormapReplaceOp, simt::TensormapPublishOp, simt::TensormapPrefetchOp>(
      table, [](KernelContext& cx, auto o) {
        if (!cx.target.hasTma()) cx.failUnsupported(o);
        if constexpr (std::is_same_v<decltype(o), simt::TensormapReplaceOp>)
          replaceInTensormap(cx, o);
        else if constexpr (std::is_same_v<decltype(o), simt::TensormapPublishOp>)
          publish(cx, o);
        else
          prefetch(cx, o);
      });
}

}  // namespace tandem::lower::nvidia
