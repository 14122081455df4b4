// A program of several blocks: who a block is, and how the blocks meet. They are one cluster along the grid's first
// axis.
#include "compiler/lower/nvidia/cluster.h"

namespace tandem::lower::nvidia {
using namespace mlir;

void allocateMeeting(KernelContext& cx, func::FuncOp kernel) {
  auto meets = [](Operation* op) {
    auto barrier = dyn_cast<simt::BarrierOp>(op);
    return isa<tile::AtomicRmwOp, tile::AtomicCasOp>(op) || (barrier && !barrier.getInBlock());
  };
  bool some = kernel.walk([&](Operation* op) { return meets(op) ? WalkResult::interrupt() : WalkResult::advance(); })
                  .wasInterrupted();
  if (some && cx.blocks > 1) cx.meeting = cx.allocateShared(8, 8);
}

bool reachesOthers(KernelContext& cx) {
  return cx.meeting >= 0 || llvm::any_of(cx.rings, [](const auto& entry) { return entry.second.isCluster; });
}

// Returns the address of the same place of shared memory in block `rank`.
static llvm::Value* remote(KernelContext& cx, llvm::Value* shared, llvm::Value* rank) {
  return ptx::mapShared(cx.b, shared, rank);
}

void arriveEverywhere(KernelContext& cx, llvm::Value* barrier, bool publishes) {
  llvm::Value* block = cx.b.CreateAnd(cx.laneId(), cx.b.getInt32(cx.blocks - 1));
  ptx::mbarrierArriveRemote(cx.b, remote(cx, barrier, block), cx.b.CreateICmpEQ(block, cx.laneId()), publishes);
}

void clusterBarrier(KernelContext& cx) {
  ptx::syncWarp(cx.b);
  ptx::clusterArrive(cx.b);
  ptx::clusterWait(cx.b);
}

// The hardware's barrier of a cluster counts the producer's warps as well, so this is one of the block's own.
void meetBlocks(KernelContext& cx) {
  if (cx.blocks == 1) return cx.emit.blockBarrier();
  llvm::Value *barrier = cx.sharedAddress(cx.meeting), *parity = cx.b.CreateLoad(cx.b.getInt32Ty(), cx.meetingParity);
  ptx::syncWarp(cx.b);
  arriveEverywhere(cx, barrier, true);
  ptx::mbarrierWait(cx.b, barrier, parity);
  ptx::fence(cx.b, ptx::Scope::Cluster);
  cx.b.CreateStore(cx.b.CreateXor(parity, cx.b.getInt32(1)), cx.meetingParity);
}

void registerCluster(Lowerings& table) {
  on<tgpu::BlockRankOp>(table, [](KernelContext& cx, auto o) { cx.define(o.getResult(), {cx.emit.blockRank()}); });
}

}  // namespace tandem::lower::nvidia
