// A program of several blocks: who a block is, and how the blocks meet. They are one cluster along the grid's first axis.
#include "compiler/lower/nvidia/kernel_lowering.h"
#include <llvm/IR/IntrinsicsNVPTX.h>

namespace tandem::lower::nvidia {
using namespace mlir;
using S = ptx::Special;

bool KernelLowering::lowerCluster(Operation* op) {
  auto rank = dyn_cast<tgpu::BlockRankOp>(op);
  if (rank) define(rank.getResult(), {blockRank()});
  return static_cast<bool>(rank);
}

llvm::Value* KernelLowering::blockRank() { return ptx::special(b_, S::ClusterRank); }

llvm::Value* KernelLowering::blockId(int axis) {
  static constexpr llvm::Intrinsic::ID ids[] = {llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x,
                                                llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_y,
                                                llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_z};
  if (axis == 0 && blocks_ > 1) return ptx::special(b_, S::ClusterX);
  return b_.CreateIntrinsic(b_.getInt32Ty(), ids[axis], {});
}

llvm::Value* KernelLowering::numPrograms(int axis) {
  static constexpr llvm::Intrinsic::ID ids[] = {llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x,
                                                llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_y,
                                                llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_z};
  if (axis == 0 && blocks_ > 1) return ptx::special(b_, S::ClusterCountX);
  return b_.CreateIntrinsic(b_.getInt32Ty(), ids[axis], {});
}

void KernelLowering::allocateMeeting(func::FuncOp kernel) {
  auto meets = [](Operation* op) {
    return isa<tile::AtomicRmwOp, tile::AtomicCasOp>(op) || (isa<simt::BarrierOp>(op) && !op->hasAttr("tgpu.in_block"));
  };
  bool some = kernel.walk([&](Operation* op) { return meets(op) ? WalkResult::interrupt() : WalkResult::advance(); }).wasInterrupted();
  if (some && blocks_ > 1) meeting_ = allocateShared(8, 8);
}

bool KernelLowering::reachesOthers() const {
  return meeting_ >= 0 || llvm::any_of(rings_, [](const auto& entry) { return entry.second.isCluster; });
}

llvm::Value* KernelLowering::loadFirstBlock(llvm::Value* shared, unsigned bits) {
  ptx::AccessOptions options;
  options.space = ptx::Space::SharedCluster;
  return ptx::load(b_, b_.getIntNTy(bits), 1, remote(shared, b_.getInt32(0)), nullptr, {}, options)[0];
}

void KernelLowering::arriveEverywhere(llvm::Value* barrier, bool publishes) {
  llvm::Value* block = b_.CreateAnd(laneId(), b_.getInt32(blocks_ - 1));
  ptx::mbarrierArriveRemote(b_, remote(barrier, block), b_.CreateICmpEQ(block, laneId()), publishes);
}

void KernelLowering::clusterBarrier() {
  ptx::syncWarp(b_);
  ptx::clusterArrive(b_);
  ptx::clusterWait(b_);
}

// The hardware's barrier of a cluster counts the producer's warps as well, so this is one of the block's own.
void KernelLowering::programBarrier() {
  if (blocks_ == 1) return blockBarrier();
  llvm::Value *barrier = sharedAddress(meeting_), *parity = b_.CreateLoad(b_.getInt32Ty(), meetingParity_);
  ptx::syncWarp(b_);
  arriveEverywhere(barrier, true);
  ptx::mbarrierWait(b_, barrier, parity);
  ptx::fence(b_, ptx::Scope::Cluster);
  b_.CreateStore(b_.CreateXor(parity, b_.getInt32(1)), meetingParity_);
}

}  // namespace tandem::lower::nvidia
